/* section.c: what the line of each section says of jobs whose cause is known. */
#include "aggregate/report/data/section.h"

#include "tests/unit/aggregate/report/data/first_kit.h"

static int64_t rank_3(size_t rank, size_t step)
{
	(void)step;
	return rank == 3 ? 5 * MS : 0;
}

static int64_t step_17(size_t rank, size_t step)
{
	return rank == 3 && step == 17 ? 400 * MS : 0;
}

static char text[PP_SECTION_TEXT];

static int line_of(const struct screen *s, int section)
{
	const struct pp_section_in in = {&s->d, &s->sums, &s->answer, &s->first};

	return pp_section_line(section, &in, text);
}

TEST(late_rank)
{
	struct screen *s = screen_of(8, 4, 20, PP_CATEGORY_INPUT, rank_3);

	CHECK(line_of(s, PP_SECTION_steps) && !strncmp(text, "Nothing unusual: 20 steps, median 1", 34));
	CHECK(line_of(s, PP_SECTION_viewer));
	CHECK_STR(text, "Rank 3 stands out: Input");
	CHECK(line_of(s, PP_SECTION_waiting) && !strncmp(text, "7 ranks wait ", 13));
	CHECK(strstr(text, " in a usual step because of rank 3") != NULL);
	CHECK(line_of(s, PP_SECTION_blame) && !strncmp(text, "Largest part: rank 3, Input: 9", 30));
	CHECK(line_of(s, PP_SECTION_workers));
	CHECK_STR(text, "Rank 3 differs from the others");
	CHECK(line_of(s, PP_SECTION_input) && strstr(text, "% of all steps' time is Input"));
	CHECK(line_of(s, PP_SECTION_collectives) && strstr(text, "waiting 2") && strstr(text, "transfer 0."));
	CHECK(line_of(s, PP_SECTION_clock) && !strncmp(text, "Clock error \u2264 ", 16));
	CHECK(line_of(s, PP_SECTION_run));
	screen_free(s);
}

TEST(one_step_of_many)
{
	struct screen *s = screen_of(4, 4, 40, PP_CATEGORY_OUTPUT, step_17);

	CHECK(line_of(s, PP_SECTION_steps));
	CHECK(!strncmp(text, "39 of 40 steps are usual, median ", 33) && strstr(text, "Longest: step 117, 4"));
	CHECK(line_of(s, PP_SECTION_viewer));
	CHECK_STR(text, "Nothing unusual: 4 ranks, 40 steps");
	CHECK(!line_of(s, PP_SECTION_input)); /* neither time nor rows */
	screen_free(s);
}

/* Tables that are not there. */
TEST(no_data)
{
	static const int with_rows[] = {PP_SECTION_advice, PP_SECTION_kernel, PP_SECTION_memory, PP_SECTION_skyline,
	                                PP_SECTION_blame};
	struct screen *s = screen_of(1, 1, 2, PP_CATEGORY_OUTPUT, NULL);

	for (size_t i = 0; i < sizeof(with_rows) / sizeof(with_rows[0]); i++)
		CHECK_INT(line_of(s, with_rows[i]), 0);
	CHECK(line_of(s, PP_SECTION_op)); /* its group decides whether there is one */
	CHECK_STR(text, "Ranges and calls by name");
	CHECK(line_of(s, PP_SECTION_waiting));
	CHECK_STR(text, "Unknown: there is only one rank");
	CHECK(line_of(s, PP_SECTION_clock));
	CHECK_STR(text, "Clock error unknown: there is only one rank");
	CHECK(line_of(s, PP_SECTION_viewer));
	CHECK_STR(text, "1 rank, 2 steps");
	CHECK(line_of(s, PP_SECTION_steps) && strstr(text, ": too few to tell usual from exceptional"));
	screen_free(s);
}

TEST(rows)
{
	struct screen *s = screen_of(2, 2, 10, PP_CATEGORY_OUTPUT, NULL);
	struct pp_row_memory memory[] = {{.worker = 0, .rss_bytes = 1 << 20}, {.worker = 1, .rss_bytes = 3 << 20}};
	const struct pp_dataset d = s->d;

	s->d.memory = memory;
	s->d.memories = 2;
	s->d.ranks_asked = 3;
	CHECK(line_of(s, PP_SECTION_memory));
	CHECK_STR(text, "Largest RSS: 3.00 MiB, rank 1");
	CHECK(line_of(s, PP_SECTION_workers));
	CHECK_STR(text, "2 of 3 ranks delivered data");
	s->d = d;
	screen_free(s);
}

int main(void)
{
	late_rank();
	one_step_of_many();
	no_data();
	rows();
	return test_end();
}
