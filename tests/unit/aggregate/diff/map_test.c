/* The text of --map: ranks, names, and what is neither. */
#include "aggregate/diff/map.h"

#include <errno.h>
#include <string.h>

#include "tests/test.h"

static struct pp_diff_map map;
static struct pp_err err;

TEST(ranks_and_names)
{
	CHECK_INT(pp_diff_map_parse("0-3=4-7,8=0,old name=new name,12=x", &map, &err), 0);
	CHECK(map.ranges == 2 && map.names == 2);
	CHECK_INT(pp_diff_map_rank(&map, 0), 4);
	CHECK_INT(pp_diff_map_rank(&map, 3), 7);
	CHECK_INT(pp_diff_map_rank(&map, 4), -1);
	CHECK_INT(pp_diff_map_rank(&map, 8), 0);
	CHECK_STR(pp_diff_map_name(&map, 0, "new name"), "old name");
	CHECK_STR(pp_diff_map_name(&map, 1, "new name"), "new name");
	CHECK_STR(pp_diff_map_name(&map, 0, "x"), "12");
	CHECK_STR(pp_diff_map_name(&map, 0, "other"), "other");
}

TEST(without_a_map_numbers_and_names_are_the_same)
{
	CHECK_INT(pp_diff_map_parse("", &map, &err), 0);
	CHECK_INT(pp_diff_map_rank(&map, 5), 5);
	CHECK_STR(pp_diff_map_name(&map, 0, "x"), "x");
	CHECK_INT(pp_diff_map_parse("a=b", &map, &err), 0);
	CHECK_INT(pp_diff_map_rank(&map, 5), 5); /* names only */
}

TEST(what_says_nothing_is_refused)
{
	static const char *const bad[] = {"3",    "=",       "a=",          "=b",      ",",
	                                  "0=1,", "0-3=4-6", "0-3=4-7,3=9", "0=4,1=4", "0-2147483647=0-2147483647"};
	static char longest[PP_DIFF_MAP_TEXT + 8];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		err.text[0] = '\0';
		map.ranges = 77;
		CHECK_INT(pp_diff_map_parse(bad[i], &map, &err), -EINVAL);
		CHECK(err.text[0] && map.ranges == 77);
	}
	memset(longest, 'a', sizeof(longest) - 1);
	longest[5] = '=';
	CHECK_INT(pp_diff_map_parse(longest, &map, &err), -EINVAL);
	for (size_t i = 0; i < sizeof(longest) - 1; i++)
		longest[i] = "a=b,"[i % 4];
	longest[4 * PP_DIFF_MAP_MOST + 3] = '\0';
	CHECK_INT(pp_diff_map_parse(longest, &map, &err), -EINVAL);
}

int main(void)
{
	ranks_and_names();
	without_a_map_numbers_and_names_are_the_same();
	what_says_nothing_is_refused();
	return test_end();
}
