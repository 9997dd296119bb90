/* The line from ticks to job ns: exact, monotone, bound from the widths. */
#include "core/capture/capture.h"
#include "core/capture/thread.h"
#include "core/clock/clock_map.h"

#include <stdlib.h>

#include "tests/test.h"

TEST(tsc_line)
{
	struct pp_clock_pair a = {.tick = 1000000, .raw_ns = 5000, .width_ns = 20};
	struct pp_clock_pair b = {.tick = 1000000 + 2300000000ull, .raw_ns = 5000 + 1000000000, .width_ns = 30};
	struct pp_clock_map m;
	struct pp_err err;
	int64_t last = INT64_MIN;

	CHECK_INT(pp_clock_map_init(&m, PP_TICK_TSC, &a, &b, 1000000, &err), 0);
	CHECK_INT(pp_clock_map_ns(&m, 1000000), 0);
	CHECK(llabs(pp_clock_map_ns(&m, b.tick) - 1000000000) <= 1);
	CHECK(llabs(pp_clock_map_ns(&m, 1000000 + 23ull * 3600 * 100000000) - 3600000000000ll) <= 1);
	CHECK_INT(m.bound_ns, 51);
	for (pp_tick t = 999000; t < 1001000; t++) {
		CHECK(pp_clock_map_ns(&m, t) >= last);
		last = pp_clock_map_ns(&m, t);
	}
	CHECK(pp_clock_map_ns(&m, 999000) < 0);
	for (int64_t ns = -3000; ns < 3000; ns += 7) { /* and the way back: the first of the ticks that are it or later */
		pp_tick tick = pp_clock_map_tick(&m, ns);

		CHECK(pp_clock_map_ns(&m, tick) >= ns && pp_clock_map_ns(&m, tick - 1) < ns);
	}
}

TEST(raw_is_one_to_one)
{
	struct pp_clock_pair a = {.tick = 100, .raw_ns = 100}, b = {.tick = 5000100, .raw_ns = 5000100};
	struct pp_clock_map m;
	struct pp_err err;

	CHECK_INT(pp_clock_map_init(&m, PP_TICK_RAW, &a, &b, 7000000000000000000ull, &err), 0);
	CHECK_INT(pp_clock_map_ns(&m, 7000000000000000123ull), 123);
	CHECK_INT(pp_clock_map_ns(&m, 6999999999999999999ull), -1);
	CHECK_INT(m.bound_ns, 0);
}

TEST(too_near)
{
	struct pp_clock_pair a = {.tick = 100, .raw_ns = 100}, b = {.tick = 2000, .raw_ns = 900000};
	struct pp_clock_map m;
	struct pp_err err = {""};

	CHECK(pp_clock_map_init(&m, PP_TICK_TSC, &a, &b, 0, &err) < 0);
	CHECK(strstr(err.text, "1 ms") != NULL);
}

TEST(slow_and_fast_ticks)
{
	struct pp_clock_pair a = {0}, slow = {.tick = 1000, .raw_ns = 1000000000},
	                     fast = {.tick = 10000000000ull, .raw_ns = 1000000000};
	struct pp_clock_map m;
	struct pp_err err;

	CHECK_INT(pp_clock_map_init(&m, PP_TICK_TSC, &a, &slow, 0, &err), 0);
	CHECK(llabs(pp_clock_map_ns(&m, 7) - 7000000) <= 1);
	CHECK_INT(pp_clock_map_init(&m, PP_TICK_TSC, &a, &fast, 0, &err), 0);
	CHECK(llabs(pp_clock_map_ns(&m, 7000) - 700) <= 1);
}

TEST(real_clock)
{
	struct pp_clock_pair a, b;
	struct pp_clock_map m;
	struct pp_err err;
	struct timespec pause = {.tv_nsec = 20000000};

	const enum pp_tick_kind kind[] = {PP_TICK_COUNTER, PP_TICK_RAW};

	for (int i = 0; i < 2; i++) { /* the counter also where the kernel does not vouch for it */
		pp_clock_read_pair(kind[i], &a);
		nanosleep(&pause, NULL);
		pp_clock_read_pair(kind[i], &b);
		CHECK_INT(pp_clock_map_init(&m, kind[i], &a, &b, a.tick, &err), 0);
		CHECK(llabs(pp_clock_map_ns(&m, b.tick) - (b.raw_ns - a.raw_ns)) <= 1);
		CHECK(a.width_ns >= 0 && a.width_ns < 1000000);
		CHECK(a.realtime_ns > 1600000000000000000ll);
	}
}

TEST(whole_rank)
{
	struct pp_span span[2] = {{.begin = 1010, .end = 1020, .kind = PP_SPAN_STEP, .step.number = 5},
	                          {.begin = 1030, .end = 1050, .kind = PP_SPAN_REQUEST}};
	struct pp_thread thread = {.first = 1010, .last = 1050, .span = span, .spans = 2};
	struct pp_rank rank = {.thread = &thread, .threads = 1, .open_tick = 1000, .horizon = INT64_MIN};
	struct pp_clock_map m = {.tick0 = 1000, .num = 1};

	pp_clock_map_rank(&m, &rank);
	CHECK_INT(span[0].begin, 10);
	CHECK_INT(span[0].step.number, 5);
	CHECK_INT(span[1].end, 50);
	CHECK_INT(thread.last, 50);
	CHECK_INT(rank.open_tick, 0);
	CHECK(rank.horizon == INT64_MIN);
}

int main(void)
{
	tsc_line();
	raw_is_one_to_one();
	too_near();
	slow_and_fast_ticks();
	real_clock();
	whole_rank();
	return test_end();
}
