/* Which launches have no record yet, and when podprof may subscribe to a release of CUPTI. */
#include <stdlib.h>

#include "core/source/cupti/cupti_due.h"
#include "core/source/cupti/cupti_release.h"
#include "tests/test.h"

static struct pp_cupti_due *begin(void)
{
	static struct pp_cupti_due *d;

	if (!d)
		d = calloc(1, sizeof(*d));
	if (!d)
		abort();
	pp_cupti_due_reset(d);
	return d;
}

static void called(struct pp_cupti_due *d, uint32_t correlation, uint64_t begin)
{
	pp_cupti_due_call(d, correlation, 10, begin, begin + 5);
}

/* Records and calls come in any order. */
TEST(any_order)
{
	struct pp_cupti_due *d = begin();

	CHECK_INT(pp_cupti_due_missing(d), 0);
	called(d, 1, 100);
	pp_cupti_due_record(d, 2);
	CHECK_INT(pp_cupti_due_missing(d), 1);
	pp_cupti_due_record(d, 1);
	called(d, 2, 200);
	CHECK_INT(pp_cupti_due_missing(d), 0);
	pp_cupti_due_record(d, 2); /* a graph's: more records of one call */
	pp_cupti_due_record(d, 3); /* of a call that is not selected */
	CHECK_INT(pp_cupti_due_missing(d), 0);
	called(d, 0, 300); /* no number */
	CHECK_INT(pp_cupti_due_missing(d), 0);
}

/* The counter has 32 bits, and numbers are used again. */
TEST(wrap)
{
	struct pp_cupti_due *d = begin();

	for (uint32_t i = 0; i < 300000; i++) {
		uint32_t number = UINT32_MAX - 100000 + i;

		called(d, number, i);
		if (number)
			pp_cupti_due_record(d, number);
	}
	CHECK_INT(pp_cupti_due_missing(d), 0);
	called(d, 7, 1);
	pp_cupti_due_record(d, 7);
	called(d, 7, 2);
	CHECK_INT(pp_cupti_due_missing(d), 1);
	pp_cupti_due_record(d, 7);
	CHECK_INT(pp_cupti_due_missing(d), 0);
}

/* Launches that are captured into a graph run nothing. */
TEST(captured)
{
	struct pp_cupti_due *d = begin();

	called(d, 1, 100);
	pp_cupti_due_capture(d, 0, 150);
	pp_cupti_due_capture(d, 0, 160); /* on a second thread */
	called(d, 2, 200);
	CHECK_INT(pp_cupti_due_missing(d), 1);
	pp_cupti_due_capture(d, 1, 250);
	called(d, 3, 300);
	CHECK_INT(pp_cupti_due_missing(d), 2);
	for (int i = 0; i < 3 * PP_CUPTI_CAPTURES; i++) {
		pp_cupti_due_capture(d, 0, (uint64_t)(400 + 10 * i));
		called(d, (uint32_t)(10 + i), (uint64_t)(402 + 10 * i));
		pp_cupti_due_record(d, (uint32_t)(10 + i));
		pp_cupti_due_capture(d, 1, (uint64_t)(405 + 10 * i));
	}
	CHECK_INT(pp_cupti_due_missing(d), 3); /* that capture is forgotten */
}

/* A call of the runtime and the driver's inside: the kernel has the number of one of them. */
TEST(nested)
{
	struct pp_cupti_due *d = begin();

	pp_cupti_due_call(d, 101, 10, 110, 120);
	pp_cupti_due_call(d, 100, 10, 100, 130);
	CHECK_INT(pp_cupti_due_missing(d), 2);
	pp_cupti_due_record(d, 101);
	CHECK_INT(pp_cupti_due_missing(d), 0);
	pp_cupti_due_call(d, 102, 11, 105, 125); /* another thread's */
	pp_cupti_due_call(d, 103, 10, 140, 150); /* the next one */
	CHECK_INT(pp_cupti_due_missing(d), 2);
	pp_cupti_due_record(d, 102);
	pp_cupti_due_record(d, 103);
	CHECK_INT(pp_cupti_due_missing(d), 0);
}

TEST(releases)
{
	CHECK_INT(pp_cupti_policy(17), PP_CUPTI_REFUSE);
	CHECK_INT(pp_cupti_policy(18), PP_CUPTI_REFUSE); /* CUDA 11.8 */
	CHECK_INT(pp_cupti_policy(19), PP_CUPTI_EARLY);  /* 12.0 */
	CHECK_INT(pp_cupti_policy(23), PP_CUPTI_EARLY);
	CHECK_INT(pp_cupti_policy(24), PP_CUPTI_LATE); /* 12.6 */
	CHECK_INT(pp_cupti_policy(130001), PP_CUPTI_LATE);
	CHECK_INT(pp_cupti_policy(UINT32_MAX), PP_CUPTI_LATE);
}

int main(void)
{
	any_order();
	wrap();
	captured();
	nested();
	releases();
	return test_end();
}
