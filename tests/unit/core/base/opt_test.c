/* Values of options: what is taken, what is refused, and that the sentence says so. */
#include "core/base/opt.h"

#include <errno.h>

#include "core/base/parse.h"
#include "core/base/rank_list.h"
#include "tests/test.h"

/* The ranks as a sentence names them, in `size` bytes. */
static const char *text_of(const int32_t *rank, size_t ranks, char *to, size_t size)
{
	struct pp_rank_text t = {.to = to, .size = size};

	for (size_t i = 0; i < ranks; i++)
		pp_rank_text_add(&t, rank[i]);
	CHECK_INT(pp_rank_text_end(&t), ranks);
	return to;
}

TEST(ranks_as_text)
{
	const int32_t some[] = {0, 1, 2, 3, 8, 10, 11, 100, 102, 103};
	char text[64], small[32];

	CHECK(!*text_of(some, 0, text, sizeof(text)));
	CHECK(!strcmp(text_of(some, 1, text, sizeof(text)), "0"));
	CHECK(!strcmp(text_of(some, 10, text, sizeof(text)), "0-3, 8, 10-11, 100, 102-103"));
	CHECK(!strcmp(text_of(some, 10, small, sizeof(small)), "0-3, 8 and 5 more"));
}

TEST(bytes)
{
	static const char *const bad[] = {"", "M", "1X", "-1", "1.5M", "1 M", "99999999999999999999", "9999999999G", "1MM"};
	struct pp_err err;
	uint64_t n = 0;

	CHECK(!pp_parse_bytes("4096", &n, NULL) && n == 4096);
	CHECK(!pp_parse_bytes("256M", &n, NULL) && n == 256u << 20);
	CHECK(!pp_parse_bytes("2k", &n, NULL) && n == 2048);
	CHECK(!pp_parse_bytes("1GiB", &n, NULL) && n == 1u << 30);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		n = 7;
		CHECK_INT(pp_parse_bytes(bad[i], &n, &err), -EINVAL);
		CHECK_INT(n, 7);
		CHECK(strstr(err.text, "is not a size") != NULL);
	}
}

TEST(steps)
{
	static const char *const bad[] = {"", "10", "10:", ":10", "20:10", "10:10", "a:b", "-1:5", "1:2:3", "1:2 "};
	int64_t first = 1, last = 2;
	struct pp_err err;

	CHECK(!pp_parse_steps("10:20", &first, &last, NULL) && first == 10 && last == 20);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		CHECK_INT(pp_parse_steps(bad[i], &first, &last, &err), -EINVAL);
		CHECK(first == 10 && last == 20);
	}
}

TEST(numbers_and_times)
{
	int64_t n = 0;

	CHECK(!pp_parse_int("0", &n, NULL) && n == 0);
	CHECK_INT(pp_parse_int("1x", &n, NULL), -EINVAL);
	CHECK_INT(pp_parse_int("9223372036854775808", &n, NULL), -EINVAL);
	CHECK(!pp_parse_time("2", &n, NULL) && n == 2000000000);
	CHECK(!pp_parse_time("500ms", &n, NULL) && n == 500000000);
	CHECK_INT(pp_parse_time("5 s", &n, NULL), -EINVAL);
	CHECK_INT(pp_parse_time("9223372036854775807h", &n, NULL), -EINVAL);
}

TEST(slow_steps)
{
	static const char *const bad[] = {
	        "",       "3x",       "step>3",       "step>1x", "step>0.5x",    "step>1.0x",    "step>1001x", "step>-2x",
	        "step>x", "step>3x ", "step>2.5555x", "step<3x", "step-over=1x", "step-over>3x", "step-over3x"};
	int64_t n = 7;

	CHECK(!pp_parse_slow("step>3x", &n, NULL) && n == 3000);
	CHECK(!pp_parse_slow("step-over=2.5x", &n, NULL) && n == 2500);
	CHECK(!pp_parse_slow("step>2.5x", &n, NULL) && n == 2500);
	CHECK(!pp_parse_slow("step>1.001x", &n, NULL) && n == 1001);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK_INT(pp_parse_slow(bad[i], &n, NULL), -EINVAL);
	CHECK_INT(n, 1001);
}

TEST(levels)
{
	static const char *const bad[] = {"",           "step", "operators/",    "operators/0", "operators/x",
	                                  "steps/10/2", "/10",  "python/1048577"};
	const uint32_t every_third = pp_level_code(PP_LEVEL_OPERATORS, 3);
	uint32_t code = 0;

	CHECK(!pp_parse_level("python", &code, NULL) && code == pp_level_code(PP_LEVEL_PYTHON, 1));
	CHECK(!pp_parse_level("operators/3", &code, NULL) && code == every_third);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK_INT(pp_parse_level(bad[i], &code, NULL), -EINVAL);
	CHECK_STR(pp_level_name(PP_LEVEL_STEPS), "steps");
	CHECK_STR(pp_level_name(17), "");
	CHECK_INT(pp_level_at(every_third, 6), PP_LEVEL_OPERATORS);
	CHECK_INT(pp_level_at(every_third, -3), PP_LEVEL_OPERATORS);
	CHECK_INT(pp_level_at(every_third, 7), PP_LEVEL_STEPS);
	CHECK_INT(pp_level_at(every_third, INT64_MIN), PP_LEVEL_OPERATORS);
	CHECK_INT(pp_level_at(0, 7), PP_LEVEL_UNKNOWN);
}

TEST(lists_of_ranks)
{
	static const char *const bad[] = {"a", "1-", "-1", "3-1", "1,,2", "1,", ",1", "1 2", "0x1", "99999999999", "1-2-3"};
	struct pp_rank_list list = {.count = 7};
	char many[512] = "0";

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK_INT(pp_rank_list_parse(bad[i], &list, NULL), -EINVAL);
	for (int i = 1; i < PP_RANK_RANGES + 1; i++)
		snprintf(many + strlen(many), sizeof(many) - strlen(many), ",%d", 2 * i);
	CHECK_INT(pp_rank_list_parse(many, &list, NULL), -EINVAL);
	CHECK_INT(list.count, 7);
	CHECK_INT(pp_rank_list_parse("0,3-5", &list, NULL), 0);
	CHECK(pp_rank_list_has(&list, 0) && pp_rank_list_has(&list, 4) && !pp_rank_list_has(&list, 2) &&
	      !pp_rank_list_has(&list, 6));
	CHECK(!pp_rank_list_misses(&list, 1));
	CHECK_INT(pp_rank_list_parse("4-6", &list, NULL), 0);
	CHECK(pp_rank_list_misses(&list, 4) && !pp_rank_list_misses(&list, 5));
	CHECK_INT(pp_rank_list_parse("", &list, NULL), 0);
	CHECK(pp_rank_list_has(&list, 12345) && !pp_rank_list_misses(&list, 1));
}

TEST(table)
{
	struct pp_err err = {""};

	for (size_t i = 0; i < PP_OPTS; i++) {
		CHECK(pp_opt_find_env(pp_opt_table[i].env) == &pp_opt_table[i]);
		CHECK_INT(pp_opt_set(&pp_opt_table[i], pp_opt_table[i].fallback, NULL, NULL, &err), 0);
	}
	CHECK(!pp_opt_find_env("nothing"));
	CHECK_INT(pp_opt_set(&pp_opt_table[PP_OPT_ID_XSPACE], "rank", NULL, NULL, &err), 0);
	CHECK_INT(pp_opt_set(&pp_opt_table[PP_OPT_ID_XSPACE], "ran", NULL, NULL, &err), -EINVAL);
	CHECK_STR(err.text, "option --xspace: 'ran' is not one of host|rank");
}

int main(void)
{
	bytes();
	steps();
	numbers_and_times();
	slow_steps();
	levels();
	lists_of_ranks();
	ranks_as_text();
	table();
	return test_end();
}
