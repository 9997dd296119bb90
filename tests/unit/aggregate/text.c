/* summary.txt: units, the whole text of a sample against its golden copy (--update writes it), 40 lines at most, bars on demand. */
#include "aggregate/write/text/text.h"

#include <errno.h>
#include <stdlib.h>

#include "tests/golden.h"
#include "tests/unit/aggregate/sample.h"

static char *text_of(const struct pp_dataset *d)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	CHECK_INT(pp_text_write(d, f), 0);
	fclose(f);
	return text;
}

static size_t lines_of(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

TEST(units)
{
	char t[PP_TEXT_UNIT];

	CHECK_STR(pp_text_time(t, 0), "0 ns");
	CHECK_STR(pp_text_time(t, 999), "999 ns");
	CHECK_STR(pp_text_time(t, 1000), "1.00 us");
	CHECK_STR(pp_text_time(t, 9996), "10.0 us");
	CHECK_STR(pp_text_time(t, 99960), "100 us");
	CHECK_STR(pp_text_time(t, 999600), "1.00 ms");
	CHECK_STR(pp_text_time(t, 84123456), "84.1 ms");
	CHECK_STR(pp_text_time(t, INT64_C(71800000000)), "71.8 s");
	CHECK_STR(pp_text_time(t, INT64_C(4000000000000)), "4000 s");
	CHECK_STR(pp_text_time(t, -1500), "-1.50 us");
	CHECK_STR(pp_text_count(t, 0), "0");
	CHECK_STR(pp_text_count(t, 1204), "1 204");
	CHECK_STR(pp_text_count(t, 1234567), "1 234 567");
}

TEST(forty_lines)
{
	struct sample s;
	char *text;

	sample_make(&s, SAMPLE_RANKS, "unused");
	for (size_t i = 0; i < s.dataset.steps * s.dataset.workers; i++)
		for (int c = 1; c <= PP_CATEGORIES; c++)
			s.dataset.cell[i].exclusive_ns[c] = 1000;
	s.dataset.cell[3 * s.dataset.workers].step_ns *= 50;
	s.dataset.violations = 1;
	for (int i = 0; i < 10; i++)
		pp_dataset_warn(&s.dataset, "warning %d", i);
	s.dataset.worker[3].lost[PP_LOSS_RING_FULL] = 1204;
	text = text_of(&s.dataset);
	CHECK(lines_of(text) <= PP_TEXT_LINES + PP_TEXT_OP_LINES + 1); /* 1: the date was set */
	CHECK(strstr(text, "  Longest ") && strstr(text, "  Files ") && strstr(text, "  Memory ") && strstr(text, "  Next "));
	CHECK(strstr(text, "1 204 lost (1 of 16 ranks)") != NULL);
	CHECK(strstr(text, "lost") < strstr(text, "Step time"));
	CHECK(strstr(text, " more in pod.h5") != NULL);
	CHECK(strstr(text, "9 more warnings") != NULL);
	free(text);
	sample_free(&s);
}

/* The mean of all steps beside their median: the one step between them is named, and only such a one. */
TEST(longest_step)
{
	struct sample s;
	char *text;

	sample_make(&s, 2, "unused");
	text = text_of(&s.dataset);
	CHECK(strstr(text, "Longest") == NULL);
	free(text);
	s.dataset.cell[3 * s.dataset.workers + 1].step_ns = 26 * (int64_t)SAMPLE_STEP_NS;
	text = text_of(&s.dataset);
	CHECK(strstr(text, "\n  Longest   step 4, 26.0 ms, 26.0 times the median; all means count it\n") != NULL);
	CHECK(strstr(text, "every step") == NULL);
	free(text);
	sample_free(&s);
}

/* Point-to-point time is neither waiting nor transfer, and must not be missed in the line that names both. */
/* What is not there is not in the list. */
TEST(steps_with_holes)
{
	static const struct {
		int64_t number[8];
		size_t steps;
		const char *text;
	} row[] = {{{173, 174, 175, 176}, 4, "steps 173..176"},
	           {{173, 174, 176, 177}, 4, "steps 173..174, 176..177"},
	           {{1, 3, 4, 6}, 4, "steps 1, 3..4, 6"},
	           {{7}, 1, "step 7"},
	           {{INT64_MIN, INT64_MAX}, 2, "steps -9223372036854775808, 9223372036854775807"},
	           {{0, 10, 20, 30, 40, 50}, 6, "6 steps of 0..50"}};
	char text[128];

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct pp_dataset d = {.steps = row[i].steps, .step_number = (int64_t *)row[i].number};

		pp_text_steps(&d, text, sizeof(text));
		CHECK_STR(text, row[i].text);
	}
	pp_text_steps(&(struct pp_dataset){.steps = 4, .step_number = (int64_t[]){1, 3, 4, 6}}, text, 16);
	CHECK_STR(text, "4 steps of 1..6"); /* no number is cut */
}

TEST(communication_that_is_not_split)
{
	struct sample s;
	char *text;

	sample_make(&s, 2, "unused");
	for (size_t i = 0; i < s.dataset.steps * s.dataset.workers; i++) {
		s.dataset.cell[i].exclusive_ns[PP_CATEGORY_HOST_COMMUNICATION] = 6000000;
		s.dataset.cell[i].wait_ns = 2000000;
		s.dataset.cell[i].transfer_ns = 1000000;
	}
	text = text_of(&s.dataset);
	CHECK(strstr(text, "in collectives waiting 2.00 ms, transfer 1.00 ms a step; other calls 3.00 ms, not split\n") != NULL);
	free(text);
	sample_free(&s);
}

TEST(what_to_do_next)
{
	static const struct {
		struct pp_verdict_what what;
		const char *line;
	} c[] = {{{PP_VERDICT_NONE, 0, 0}, "steps asked for were reached; docs/reading-a-report.md#quality\n"},
	         {{PP_VERDICT_STARTUP, 0, 0}, "longer run"},
	         {{PP_VERDICT_RANK, 3, PP_CATEGORY_INPUT},
	          "rank 3's files, shard and workers with the others'; docs/reading-a-report.md#input\n"},
	         {{PP_VERDICT_RANK, 3, PP_CATEGORY_OUTPUT}, "rank 3 writes"},
	         {{PP_VERDICT_RANK, 3, PP_CATEGORY_OTHER}, "mark what rank 3 does"},
	         {{PP_VERDICT_RANK, 3, PP_CATEGORY_HOST_COMPUTE}, "pin rank 3 in report.html"},
	         {{PP_VERDICT_WAITING, 0, 0}, "which rank comes last"},
	         {{PP_VERDICT_TIE, 0, 0}, "'podprof doctor --clock'"},
	         {{PP_VERDICT_UNEXPLAINED, 5, 0}, "compare rank 5 with the others in the trace"},
	         {{PP_VERDICT_SHARED, 5, 0}, "which cores rank 5 may use"},
	         {{PP_VERDICT_CHAIN, 5, 0, 2}, "look at rank 2 first: rank 5 waited for it"},
	         {{PP_VERDICT_UNSPLIT, 0, 0}, "see which calls take longest"},
	         {{PP_VERDICT_UNSEEN, 0, 0}, "run it with Open MPI 4 or 5"},
	         {{PP_VERDICT_LARGEST, 0, PP_CATEGORY_INPUT}, "input pipeline"},
	         {{PP_VERDICT_LARGEST, 0, PP_CATEGORY_OUTPUT}, "write less often"},
	         {{PP_VERDICT_LARGEST, 0, PP_CATEGORY_HOST_COMMUNICATION}, "operations and channels"},
	         {{PP_VERDICT_LARGEST, 0, PP_CATEGORY_OTHER}, "mark what the ranks do"},
	         {{PP_VERDICT_LARGEST, 0, PP_CATEGORY_HOST_COMPUTE}, "longest ranges"}};

	for (size_t i = 0; i < sizeof(c) / sizeof(c[0]); i++) {
		char text[256] = "";
		FILE *f = fmemopen(text, sizeof(text), "w");

		pp_text_next(&c[i].what, f);
		fclose(f);
		CHECK(!strncmp(text, "  Next      ", 12));
		CHECK(strstr(text, c[i].line) != NULL);
		CHECK(strstr(text, "; docs/reading-a-report.md#") != NULL);
		CHECK_INT(lines_of(text), 1);
		CHECK(strlen(text) <= 130);
	}
}

TEST(bars_on_demand)
{
	static char in[] = "a\n  Input   |####      |  40.0 %\n  b | c |\nlast without newline";
	char *got = NULL;
	size_t size;
	FILE *from = fmemopen(in, strlen(in), "r"), *to = open_memstream(&got, &size);

	CHECK_INT(pp_text_print(from, to, 0), 0);
	fclose(to);
	CHECK_STR(got, "a\n  Input    40.0 %\n  b | c |\nlast without newline");
	free(got);
	rewind(from);
	to = open_memstream(&got, &size);
	CHECK_INT(pp_text_print(from, to, 100), 0);
	fclose(to);
	CHECK_STR(got, "a\n  Input    ####         40.0 %\n  b | c |\nlast without newline");
	free(got);
	fclose(from);
}

/* No line is longer than the terminal, no word is lost or cut. */
TEST(long_lines_on_a_terminal)
{
	static char in[] = "short\n  Input   |####                          |  40.0 %\n  Who waited: \xc3\xa9\xc3\xa9\xc3\xa9 "
	                   "ranks 0 to 7 for rank 3, "
	                   "a word_that_is_longer_than_a_line_can_ever_be_here 1 s\n";
	static const char want[] =
	        "short\n  Input    40.0 %\n  Who waited: \xc3\xa9\xc3\xa9\xc3\xa9 ranks 0 to 7\n      for rank 3, a\n"
	        "      word_that_is_longer_than_a_line_can_ever_be_here\n      1 s\n";
	char *got = NULL;
	size_t size;
	FILE *from = fmemopen(in, strlen(in), "r"), *to = open_memstream(&got, &size);

	CHECK_INT(pp_text_print(from, to, 30), 0);
	fclose(to);
	CHECK_STR(got, want);
	free(got);
	fclose(from);
}

TEST(script_names_the_job)
{
	static const char *const command[][2] = {{"/usr/bin/python3 -u dir/train.py --lr 1", "train.py  "},
	                                         {"./c_mpi_train --steps 3", "c_mpi_train  "},
	                                         {"python", "python  "},
	                                         {"", "job  "}};
	struct sample s;

	sample_make(&s, 1, "unused");
	for (size_t i = 0; i < sizeof(command) / sizeof(command[0]); i++) {
		char *text;

		snprintf(s.dataset.command, sizeof(s.dataset.command), "%s", command[i][0]);
		text = text_of(&s.dataset);
		CHECK(!strncmp(text, command[i][1], strlen(command[i][1])));
		free(text);
	}
	sample_free(&s);
}

static void golden(const char *path, int update)
{
	struct sample s;
	char *text;

	sample_make(&s, 3, "unused");
	text = text_of(&s.dataset);
	test_golden(path, update, text);
	free(text);
	sample_free(&s);
}

int main(int argc, char **argv)
{
	setenv("TZ", "UTC", 1);
	units();
	forty_lines();
	longest_step();
	steps_with_holes();
	communication_that_is_not_split();
	what_to_do_next();
	bars_on_demand();
	long_lines_on_a_terminal();
	script_names_the_job();
	if (argc > 1)
		golden(argv[1], argc > 2 && !strcmp(argv[2], "--update"));
	return test_end();
}
