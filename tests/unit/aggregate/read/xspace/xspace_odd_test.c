/* XSpace files that are valid and odd: lines whose times cannot belong together. */
#include "core/capture/capture.h"
#include "core/capture/thread.h"
#include "core/step/category.h"
#include "tests/test.h"
#include "tests/unit/aggregate/read/xspace/xspace_kit.h"

enum { CORRELATION = 1, DETAILS = 2, DATE = 1790000000 };

static struct bytes file, plane, line, event;
static struct pp_capture c;

/* Begins a line, with a date or at 0. */
static void begin(const char *name, int64_t seconds)
{
	begin_line(&line, 1, name);
	put_int(&line, 3, seconds * 1000000000);
}

static void add(int64_t name, int64_t at, int64_t correlation)
{
	begin_event(&event, name, at, 5);
	if (correlation)
		put_stat(&event, 4, CORRELATION, correlation);
	put_message(&line, 4, &event);
}

static void end_plane(void)
{
	put_name(&plane, 4, 1, "x");
	put_name(&plane, 4, 2, "cuLaunchKernel");
	put_name(&plane, 5, CORRELATION, "correlation_id");
	put_name(&plane, 5, DETAILS, "kernel_details");
	put_message(&file, 1, &plane);
}

static const struct pp_rank *read_file(void)
{
	struct pp_err err = {""};

	pp_capture_release(&c);
	c = (struct pp_capture){0};
	if (read_bytes(file.b, file.n, &c, &err)) {
		fprintf(stderr, "%s\n", err.text);
		exit(1);
	}
	file.n = 0;
	return &c.rank[0];
}

/* The line with most events decides. A kernel whose launch is left out stays. */
TEST(a_line_without_a_date)
{
	const struct pp_rank *r;

	begin_plane(&plane, "/host:CPU");
	begin("dated", DATE);
	add(1, 10, 0);
	add(1, 20, 0);
	add(1, 30, 0);
	put_message(&plane, 3, &line);
	begin("no date", 0);
	add(2, 12, 7);
	add(1, 22, 0);
	put_message(&plane, 3, &line);
	end_plane();
	begin_plane(&plane, "/device:GPU:0");
	begin("Stream #7", DATE);
	add(1, 15, 7);
	put_message(&plane, 3, &line);
	end_plane();
	r = read_file();
	CHECK_INT(r->trace.events, 6);
	CHECK_INT(r->trace.untimed, 2);
	CHECK_INT(r->threads, 3);
	CHECK_INT(r->thread[0].spans, 3);
	CHECK_INT(r->thread[0].span[0].begin, 0);
	CHECK_INT(r->thread[1].spans, 0);
	CHECK_INT(r->thread[2].spans, 1);
	CHECK_INT(r->thread[2].span[0].begin, 5);
	CHECK_INT(r->recorded_to, 25);
	CHECK_INT(r->remarks, 1);
	CHECK_STR(r->remark[0], "1 line was left out: its times are half a year or more from those of the line with most events");
}

/* The same the other way round. */
TEST(a_date_among_lines_without)
{
	const struct pp_rank *r;

	begin_plane(&plane, "/host:CPU");
	begin("dated", DATE);
	add(1, 10, 0);
	put_message(&plane, 3, &line);
	begin("no date", 0);
	add(1, 12, 0);
	add(1, 22, 0);
	put_message(&plane, 3, &line);
	begin("nothing", 0);
	put_message(&plane, 3, &line);
	end_plane();
	r = read_file();
	CHECK_INT(r->trace.untimed, 1);
	CHECK_INT(r->thread[1].spans, 2);
	CHECK_INT(r->recorded_from, 12);
	CHECK_INT(r->recorded_to, 27);
}

/* TensorFlow of 2020 names a launch like its kernel: the details make it one. A name that a rule knows stays what it is. */
TEST(a_launch_by_its_details)
{
	const struct pp_rank *r;

	begin_plane(&plane, "/host:CPU");
	begin("main", 0);
	for (int64_t name = 1; name <= 2; name++) {
		begin_event(&event, name, 10 * name, 5);
		put_stat(&event, 4, CORRELATION, 6 + name);
		put_stat_text(&event, 4, DETAILS, "regs:32");
		put_message(&line, 4, &event);
	}
	add(1, 30, 9);
	put_message(&plane, 3, &line);
	end_plane();
	r = read_file();
	CHECK_INT(r->thread[0].spans, 3);
	CHECK_INT(r->thread[0].span[0].category, PP_CATEGORY_KERNEL_LAUNCH);
	CHECK_INT(r->thread[0].span[1].category, 0);
	CHECK_INT(r->thread[0].span[2].category, 0);
}

int main(void)
{
	a_launch_by_its_details();
	a_line_without_a_date();
	a_date_among_lines_without();
	pp_capture_release(&c);
	return test_end();
}
