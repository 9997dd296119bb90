/* Checks for unit tests: TEST(name) { CHECK(x); }, one main per program by TEST_MAIN(...). Counts, prints what failed, exit 1. */
#pragma once

#include <stdio.h>
#include <string.h>

static int test_failures;
static int test_checks;

#define CHECK(cond)                                                                                                                \
	do {                                                                                                                       \
		test_checks++;                                                                                                     \
		if (!(cond)) {                                                                                                     \
			test_failures++;                                                                                           \
			fprintf(stderr, "%s:%d: %s: failed: %s\n", __FILE__, __LINE__, __func__, #cond);                           \
		}                                                                                                                  \
	} while (0)

#define CHECK_INT(got, want)                                                                                                       \
	do {                                                                                                                       \
		long long got_ = (long long)(got), want_ = (long long)(want);                                                      \
		test_checks++;                                                                                                     \
		if (got_ != want_) {                                                                                               \
			test_failures++;                                                                                           \
			fprintf(stderr, "%s:%d: %s: %s is %lld, not %lld\n", __FILE__, __LINE__, __func__, #got, got_, want_);     \
		}                                                                                                                  \
	} while (0)

#define CHECK_STR(got, want)                                                                                                       \
	do {                                                                                                                       \
		const char *got_ = (got), *want_ = (want);                                                                         \
		test_checks++;                                                                                                     \
		if (!got_ || strcmp(got_, want_)) {                                                                                \
			test_failures++;                                                                                           \
			fprintf(stderr, "%s:%d: %s: %s is '%s', not '%s'\n", __FILE__, __LINE__, __func__, #got,                   \
			        got_ ? got_ : "(null)", want_);                                                                    \
		}                                                                                                                  \
	} while (0)

#define TEST(name) static void name(void)

static inline int test_end(void)
{
	if (test_checks == 0) {
		fprintf(stderr, "no check ran\n");
		return 1;
	}
	fprintf(stderr, "%d checks, %d failed\n", test_checks, test_failures);
	return test_failures != 0;
}
