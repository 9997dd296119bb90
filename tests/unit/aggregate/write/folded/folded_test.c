/* Collapsed stacks: exact lines, and that they hold all own time of threads and streams. */
#include "aggregate/write/folded/folded.h"

#include <inttypes.h>
#include <stdio.h>

#include "core/capture/thread.h"
#include "tests/unit/aggregate/timeline_kit.h"

#define UNKNOWN "\xef\xbf\xbd" /* names of records have it for what is no UTF-8 */

enum { DEEP = 300 };

/* All lines; the caller frees them. */
static char *fold(const struct pp_timeline *t, int is_joined, uint64_t *ret_stacks)
{
	struct pp_err err = {""};
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	CHECK_INT(pp_folded_write(t, is_joined, to, ret_stacks, &err), 0);
	fclose(to);
	return text;
}

/* Sum and number of the lines are those of the events. */
static void check_sum(const struct pp_timeline *t)
{
	for (int is_joined = 0; is_joined < 2; is_joined++) {
		uint64_t stacks, lines = 0;
		int64_t own = 0, sum = 0;
		char *text = fold(t, is_joined, &stacks), *rest = text, *line;

		for (size_t i = 0; i < t->events; i++)
			if (t->track[t->event[i].track].of == PP_TIMELINE_THREAD ||
			    t->track[t->event[i].track].of == PP_TIMELINE_STREAM)
				own += t->event[i].self_ns;
		while ((line = strsep(&rest, "\n"))) {
			const char *number = strrchr(line, ' ');

			if (!*line)
				continue;
			lines++;
			CHECK(number && number > line && number[1]);
			sum += number ? strtoll(number + 1, NULL, 10) : 0;
		}
		CHECK_INT(sum, own);
		CHECK_INT(lines, stacks);
		free(text);
	}
}

static void check_lines(const struct pp_timeline *t, int is_joined, const char *want)
{
	uint64_t stacks;
	char *text = fold(t, is_joined, &stacks);

	CHECK_STR(text, want);
	free(text);
}

TEST(each_stack_has_one_line)
{
	struct made k;

	begin_made(&k, 2, 1);
	set_step(&k, 0, 0, 0, 0, 100); /* steps, requests and async ranges overlap the rest and are left out */
	add_span(k.c, 0, 0, PP_SPAN_ASYNC, "async", 0, 100);
	for (size_t r = 0; r < 2; r++) {
		add_range(k.c, r, 0, "train", 0, 100);
		add_range(k.c, r, 0, "forward", 10, 30);
		add_range(k.c, r, 0, "forward", 40, 60);
		add_range(k.c, r, 0, "whole", 60, 100);
		add_range(k.c, r, 0, "step", 60, 100);
	}
	add_span(k.c, 1, 1, PP_SPAN_DEVICE, "kernel", 5, 10);
	add_span(k.c, 1, 1, PP_SPAN_DEVICE, "kernel", 7, 12);
	k.c->rank[1].thread[1].device = 1;
	k.c->rank[1].thread[1].name = pp_intern_put(k.c->names, "Stream 7", 8);
	end_made(&k);
	check_lines(&k.t, 0,
	            "rank 0;main;train 20\nrank 0;main;train;forward 40\nrank 0;main;train;whole;step 40\n"
	            "rank 1;main;train 20\nrank 1;main;train;forward 40\nrank 1;main;train;whole;step 40\n"
	            "rank 1;device 0 Stream 7;kernel 10\n");
	check_lines(&k.t, 1, "train 40\ntrain;forward 80\ntrain;whole;step 80\nkernel 10\n");
	check_sum(&k.t);
	drop_made(&k);
}

TEST(waiting_is_a_frame_of_its_own)
{
	struct made k;

	begin_made(&k, 2, 0);
	for (size_t r = 0; r < 2; r++) {
		add_range(k.c, r, 0, "train", 0, 100);
		add_mpi(k.c, r, "MPI_Barrier", 1, r ? 50 : 10, 60);
	}
	set_ledger(&k, 1, 40);
	add_arrival(&k, 0, 10, 60, 40, 1);
	add_arrival(&k, 1, 50, 60, 0, -1);
	end_made(&k);
	check_lines(&k.t, 0,
	            "rank 0;main;train 50\nrank 0;main;train;MPI_Barrier 10\nrank 0;main;train;MPI_Barrier;(waiting) 40\n"
	            "rank 1;main;train 90\nrank 1;main;train;MPI_Barrier 10\n");
	check_lines(&k.t, 1, "train 140\ntrain;MPI_Barrier 20\ntrain;MPI_Barrier;(waiting) 40\n");
	check_sum(&k.t);
	drop_made(&k);
}

/* A semicolon, a line break or no text in a name would make other stacks of it. */
TEST(names_stay_one_frame)
{
	struct made k;

	begin_made(&k, 1, 0);
	add_range(k.c, 0, 0, "a;b", 0, 10);
	add_range(k.c, 0, 0, "two\nlines\t", 10, 20);
	add_range(k.c, 0, 0, "odd \xff\x7f \xc3\xa4", 20, 30);
	add_range(k.c, 0, 0, "", 30, 40);
	add_range(k.c, 0, 0, "in it 7", 35, 40);
	end_made(&k);
	check_lines(&k.t, 1,
	            "a:b 10\ntwo" UNKNOWN "lines" UNKNOWN " 10\nodd " UNKNOWN UNKNOWN
	            " \xc3\xa4 10\n(no name) 5\n(no name);in it 7 5\n");
	check_sum(&k.t);
	drop_made(&k);
}

TEST(deep_stacks_are_whole)
{
	struct made k;
	uint64_t stacks;
	char *text, name[16];
	size_t frames = 0;

	begin_made(&k, 1, 0);
	for (int i = 0; i < DEEP; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		add_range(k.c, 0, 0, name, i, 2 * DEEP - i);
	}
	end_made(&k);
	check_sum(&k.t);
	text = fold(&k.t, 1, &stacks);
	CHECK_INT(stacks, DEEP);
	for (const char *at = strstr(text, ";f298;f299 2\n"); at && at > text && at[-1] != '\n'; at--)
		frames += *at == ';';
	CHECK_INT(frames, DEEP - 2);
	free(text);
	drop_made(&k);
}

TEST(a_full_disk_is_an_error)
{
	struct made k;
	struct pp_err err = {""};
	uint64_t stacks;
	FILE *full = fopen("/dev/full", "w");

	if (!full)
		return;
	begin_made(&k, 1, 0);
	add_range(k.c, 0, 0, "a", 0, 10);
	end_made(&k);
	CHECK(pp_folded_write(&k.t, 0, full, &stacks, &err) < 0);
	CHECK(err.text[0]);
	fclose(full);
	drop_made(&k);
}

int main(void)
{
	each_stack_has_one_line();
	waiting_is_a_frame_of_its_own();
	names_stay_one_frame();
	deep_stacks_are_whole();
	a_full_disk_is_an_error();
	return test_end();
}
