/* Several windows of one rank: lists, repeats, edges that meet, jumps; and how users write them. */
#include "core/window/plan.h"

#include <errno.h>

#include "tests/test.h"

static struct pp_window_row row[PP_WINDOW_ROWS];
static struct pp_plan plan;
static pp_tick tick;

static void begin(const char *steps, int64_t every)
{
	struct pp_step_windows w;

	memset(row, 0, sizeof(row));
	tick = 100;
	CHECK_INT(pp_step_windows_parse(steps, &w, NULL), 0);
	CHECK_INT(pp_step_windows_repeat(&w, every, NULL), 0);
	pp_plan_init(&plan, &w, row);
	CHECK_INT(plan.now.recording, 1);
}

/* Steps [first, last), each with an end or not; returns how many were recorded. */
static int steps(int64_t first, int64_t last, int with_end)
{
	int recorded = 0;

	for (int64_t i = first; i < last; i++) {
		recorded += i < pp_plan_next_edge(&plan) ? 0 : pp_plan_begin(&plan, i, tick);
		tick += 10;
		if (with_end)
			pp_plan_end(&plan, tick);
	}
	return recorded;
}

static void check_row(uint64_t index, int64_t first, int64_t last, pp_tick from, pp_tick to)
{
	const struct pp_window_row *r = &row[index % PP_WINDOW_ROWS];

	CHECK_INT(r->number, index + 1);
	CHECK_INT(r->first, first);
	CHECK_INT(r->last, last);
	CHECK_INT(r->begin, from);
	CHECK_INT(r->end, to);
}

/* Steps of a warm-up that were taken for the job's; but not once a window has passed. */
TEST(begin_again)
{
	begin("2:4,10:11", 0);
	CHECK_INT(steps(0, 3, 0), 2);
	CHECK(pp_plan_again(&plan));
	CHECK_INT(row[0].number, 0);
	CHECK_INT(plan.now.recording, 1);
	tick = 500;
	CHECK_INT(steps(0, 6, 0), 4);
	check_row(0, 2, 4, 510, 550);
	CHECK_INT(plan.passed, 1);
	CHECK(!pp_plan_again(&plan));
	CHECK_INT(steps(6, 20, 0), 3);
	check_row(1, 10, 11, 590, 620);
}

TEST(lists)
{
	for (int with_end = 0; with_end < 2; with_end++) {
		begin("2:4,10:11", 0);
		CHECK_INT(steps(0, 20, with_end), 4 + 3);
		CHECK_INT(plan.passed, 2);
		CHECK_INT(plan.over, 1);
		check_row(0, 2, 4, 110, 150);
		check_row(1, 10, 11, 190, 220);
	}
}

TEST(edges_that_meet)
{
	for (int with_end = 0; with_end < 2; with_end++) {
		begin("2:4,4:5,5:6,8:9", 0);
		CHECK_INT(steps(0, 20, with_end), 9); /* 1..9 */
		check_row(0, 2, 4, 110, 150);
		check_row(1, 4, 5, 130, 160);
		check_row(2, 5, 6, 140, 170);
		check_row(3, 8, 9, 170, 200);
		CHECK_INT(plan.passed, 4);
	}
}

TEST(repeats)
{
	begin("2:3", 10);
	CHECK_INT(steps(0, 1000, 1), 300);
	CHECK_INT(plan.passed, 100);
	check_row(99, 992, 993, 100 + 9910, 100 + 9940);
	CHECK_INT(row[0].first, 642);
	CHECK_INT(pp_plan_begin(&plan, INT64_C(1) << 60, tick), 0); /* at once, not window by window */
	CHECK_INT(plan.passed, ((INT64_C(1) << 60) - 3 - 1) / 10 + 1);
	CHECK_INT(pp_plan_begin(&plan, INT64_MAX, tick), 0);
	CHECK_INT(plan.over, 1);
	begin("2:12", 10);
	CHECK_INT(steps(0, 50, 1), 49);
	CHECK_INT(plan.passed, 4);
}

TEST(passed_before_the_first_mark)
{
	begin("2:4,6:8,10:12", 0);
	CHECK_INT(pp_plan_begin(&plan, 7, tick), 1);
	CHECK_INT(plan.passed, 1);
	CHECK_INT(row[0].number, 0);
	CHECK_INT(row[1].number, 2);
	CHECK_INT(steps(8, 20, 1), 5);
	CHECK_INT(plan.over, 1);
	begin("2:4", 0);
	CHECK_INT(pp_plan_begin(&plan, 100, tick), 0);
	CHECK_INT(plan.over, 1);
	CHECK_INT(plan.now.state, PP_WINDOW_PASSED);
}

TEST(jump_from_an_edge)
{
	begin("2:4", 4);
	steps(0, 5, 0); /* inside the edge step 4: the next window begins at 6, so its edge is 5 */
	CHECK_INT(pp_plan_begin(&plan, 5, 150), 1);
	check_row(1, 6, 8, 150, 0);
	CHECK_INT(pp_plan_begin(&plan, 40, 160), 1);
	CHECK_INT(row[1].end, 160);
	CHECK_INT(plan.passed, 9); /* 38:40 has its edge at 40 */
	begin("2:4", 2);
	CHECK_INT(steps(0, 5, 0), 4);
	CHECK_INT(plan.next_started, 1);
	CHECK_INT(pp_plan_begin(&plan, 41, 170), 1);
	CHECK_INT(plan.next_started, 0);
	CHECK_INT(row[1].end, 170);
	CHECK_INT(row[plan.passed].first, 40);
}

TEST(texts)
{
	static const char *const bad[] = {"", "1", "1:2,", ",1:2", "5:9,8:12", "5:9,1:2", "1:2;3:4", "1:2,3:3"};
	struct pp_step_windows w = {0};
	struct pp_err err;
	char many[400] = "0:1";

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK_INT(pp_step_windows_parse(bad[i], &w, &err), -EINVAL);
	CHECK_INT(w.count, 0);
	CHECK_INT(pp_step_windows_parse("1:2,2:9,100:101", &w, &err), 0);
	CHECK_INT(w.count, 3);
	CHECK(pp_step_windows_many(&w));
	CHECK(pp_step_windows_has(&w, 8) && !pp_step_windows_has(&w, 9) && pp_step_windows_has(&w, 100));
	CHECK_INT(pp_step_windows_repeat(&w, 100, &err), -EINVAL);
	for (int i = 1; i <= PP_STEP_WINDOWS; i++)
		snprintf(many + strlen(many), sizeof(many) - strlen(many), ",%d:%d", i, i + 1);
	CHECK_INT(pp_step_windows_parse(many, &w, &err), -EINVAL);
	CHECK_INT(pp_step_windows_parse("10:20", &w, &err), 0);
	CHECK_INT(pp_step_windows_repeat(&w, 9, &err), -EINVAL);
	CHECK_INT(pp_step_windows_repeat(&w, 10, &err), 0);
	CHECK(pp_step_windows_has(&w, 10) && pp_step_windows_has(&w, 1 << 30) && !pp_step_windows_has(&w, 9));
}

int main(void)
{
	begin_again();
	lists();
	edges_that_meet();
	repeats();
	passed_before_the_first_mark();
	jump_from_an_edge();
	texts();
	return test_end();
}
