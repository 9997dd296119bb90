/* What moves the windows: the options, the program, time, and the end of being the rank. */
#include "core/window/trigger.h"

#include "core/ring/wiped.h"
#include "core/window/window.h"
#include "tests/test.h"
#include "tests/unit/core/window/trigger_kit.h"

TEST(plan)
{
	kit_claim("10:12,20:21", 0);
	CHECK(atomic_load(&kit_recording));
	for (int i = 0; i < 30; i++)
		CHECK_INT(kit_step(i), (i >= 9 && i <= 12) || (i >= 19 && i <= 21));
	CHECK_INT(kit_header.windows_passed, 2);
	CHECK_INT(kit_header.step_marks, 1);
	CHECK(pp_trigger_next_edge == INT64_MAX);
}

TEST(everything)
{
	kit_claim("", 0);
	for (int i = 0; i < 5; i++)
		CHECK(kit_step(i));
	CHECK(pp_trigger_asks());
	CHECK_INT(kit_switches, 0);
	CHECK(pp_trigger_next_edge == INT64_MAX);
}

TEST(by_time)
{
	kit_claim("", 1);
	CHECK(kit_recording && pp_trigger_is_rung()); /* until the first look */
	pp_trigger_poll();
	CHECK(!kit_recording && !pp_trigger_is_rung());
	kit_ring(PP_ASK_NOW, 0, 0);
	CHECK(kit_step(0));
	kit_ring(PP_ASK_NOTHING, 0, 0);
	CHECK(!kit_step(1) && !kit_step(2));
	kit_claim("", 1);
	kit_ring(PP_ASK_NOW, 0, 0);
	pp_trigger_poll();
	CHECK(kit_recording);
}

TEST(program)
{
	const struct pp_api_window_row *row = kit_header.api_window;

	kit_claim("", 0);
	pp_trigger_close();
	CHECK_INT(kit_header.api_strays, 1);
	CHECK(kit_recording && !kit_header.api_windows);
	pp_trigger_open("eval");
	CHECK(kit_recording);
	CHECK_INT(row[0].state, PP_API_WINDOW_BEGUN);
	CHECK_STR(row[0].name, "eval");
	pp_trigger_open("inner");
	kit_step(0);
	CHECK(pp_trigger_asks());
	pp_trigger_close();
	CHECK(kit_recording);
	pp_trigger_close();
	CHECK(!kit_recording);
	CHECK_INT(row[0].state, PP_API_WINDOW_PASSED);
	CHECK(row[0].end > row[0].begin);
	CHECK(!kit_step(1)); /* from the first one on only windows */
	pp_trigger_open(NULL);
	CHECK(kit_step(2));
	pp_trigger_close();
	CHECK_INT(kit_header.api_windows, 2);
	for (int i = 0; i < 200; i++) {
		pp_trigger_open("a name that is longer than the row has room for, by far");
		pp_trigger_close();
	}
	CHECK_INT(kit_header.api_windows, 202);
	CHECK_INT(row[201 % PP_WINDOW_ROWS].number, 202);
	CHECK(!row[3].name[47] && row[3].name[46]);
	CHECK(!kit_recording);
}

TEST(program_steps)
{
	kit_claim("30:32", 0);
	CHECK_INT(pp_trigger_steps(10, 12), 0);
	CHECK_INT(pp_trigger_steps(20, 22), 0);
	CHECK(pp_trigger_steps(11, 14) && pp_trigger_steps(5, 5) && pp_trigger_steps(31, 40) && pp_trigger_steps(25, 31));
	CHECK_INT(kit_header.api_refused, 4);
	for (int i = 0; i < 40; i++) {
		if (i == 15)
			CHECK(pp_trigger_steps(14, 18) && !pp_trigger_steps(16, 18));
		CHECK_INT(kit_step(i), (i >= 9 && i <= 12) || (i >= 15 && i <= 22) || (i >= 29 && i <= 32));
	}
	for (int i = 0; i < 3; i++) {
		CHECK_INT(kit_header.api_window[i].state, PP_API_WINDOW_PASSED);
		CHECK(kit_header.api_window[i].begin && kit_header.api_window[i].end > kit_header.api_window[i].begin);
	}
	CHECK_INT(kit_header.windows_passed, 1);
	CHECK_INT(kit_header.window_state, PP_WINDOW_INSIDE); /* the program may ask for more */
	CHECK(pp_trigger_next_edge == INT64_MAX);
	CHECK_INT(pp_trigger_steps(100, 102), 0);
	kit_step(200);
	CHECK_INT(kit_header.api_window[3].state, PP_API_WINDOW_MISSED);
}

TEST(program_steps_alone)
{
	kit_claim("", 0);
	CHECK(kit_step(0));
	CHECK_INT(pp_trigger_steps(4, 5), 0);
	for (int i = 1; i < 10; i++)
		CHECK_INT(kit_step(i), i >= 3 && i <= 5);
}

TEST(over)
{
	kit_claim("", 0);
	kit_step(0);
	pp_trigger_stop();
	kit_ring(PP_ASK_NOW, 0, 0);
	atomic_store(&kit_recording, 0);
	pp_trigger_poll();
	pp_trigger_open("late");
	CHECK(!kit_step(1) && !kit_header.api_windows && !kit_header.request);
}

TEST(forked)
{
	kit_claim("5:6", 0);
	kit_step(0);
	atomic_store(&pp_wiped.is_rank, 0); /* a forked child */
	kit_ring(PP_ASK_NOW, 0, 0);
	pp_trigger_poll();
	pp_trigger_open("child");
	pp_trigger_close();
	CHECK_INT(pp_trigger_steps(8, 9), 0);
	CHECK(!kit_step(5) && !kit_header.api_windows && !kit_header.request);
}

int main(void)
{
	void (*const tests[])(void) = {plan, everything, by_time, program, program_steps, program_steps_alone, over, forked};

	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		kit_alone(tests[i]);
	return test_end();
}
