/* The wall clock: slewed, stepped, suspended, on hand-made readings; and one real reading. */
#include "core/clock/wall.h"

#include <stdlib.h>

#include "core/clock/wall_read.h"
#include "tests/test.h"

struct host { /* by true ns */
	int64_t step_ns, step, slept_ns, slept;
	double slew;
};

static struct pp_wall_sample at(const struct host *h, int64_t t)
{
	struct pp_wall_sample s = {.tick_before = 2 * t, .tick_after = 2 * t + 120}; /* 2 GHz, 60 ns wide */

	s.monotonic_ns = 5000000000 + t + 30 + (int64_t)((double)t * h->slew);
	s.boottime_ns = s.monotonic_ns + (h->slept_ns && t >= h->slept_ns ? h->slept : 0);
	s.realtime_ns = 1700000000000000000 + s.boottime_ns + (h->step_ns && t >= h->step_ns ? h->step : 0);
	return s;
}

static int follow(struct pp_wall *w, const struct host *h, int seconds)
{
	int seen = 0;

	CHECK_INT(pp_wall_init(w, 2, NULL), 0);
	for (int i = 0; i < seconds; i++) {
		struct pp_wall_sample s = at(h, i * 1000000000ll);

		seen += pp_wall_add(w, &s);
	}
	return seen;
}

TEST(slewed_is_not_stepped)
{
	struct host h = {.slew = 500e-6};
	struct pp_pieces p;
	struct pp_wall w;

	CHECK_INT(follow(&w, &h, 30), 0);
	CHECK_INT(w.steps, 0);
	CHECK_INT(pp_wall_pieces(&w, 1700000015000000000, 1000000000, &p, NULL), 0);
	for (int64_t t = 0; t < 29000000000; t += 123456789) {
		struct pp_wall_sample s = at(&h, t);

		CHECK(llabs(pp_pieces_map(&p, s.realtime_ns) - (2 * t + 60)) <= pp_pieces_bound(&p, s.realtime_ns));
		CHECK(pp_pieces_bound(&p, s.realtime_ns) < 500);
	}
	pp_pieces_release(&p);
	pp_wall_release(&w);
}

TEST(step_is_named)
{
	struct host h = {.step_ns = 10300000000, .step = -2000000000};
	struct pp_pieces p;
	struct pp_wall w;
	const struct pp_wall_step *step = &w.step[0];

	CHECK_INT(follow(&w, &h, 30), 1);
	CHECK_INT(w.steps, 1);
	CHECK(step->tick_before_which >= 2 * 10000000000 && step->tick_after_which <= 2 * 11000000000);
	CHECK_INT(step->event, PP_WALL_STEPPED);
	CHECK(llabs(step->by_ns - h.step) <= step->error_ns && step->error_ns < 1000);
	CHECK_INT(w.eras, 2);
	/* both sides of it are mapped by their own era; what both could be is the later one's */
	for (int64_t t = 0; t < 29000000000; t += 123456789) {
		struct pp_wall_sample s = at(&h, t);

		if (t > 8000000000 && t < 11000000000)
			continue;
		CHECK_INT(pp_wall_pieces(&w, s.realtime_ns, 1000000000, &p, NULL), 0);
		CHECK(llabs(pp_pieces_map(&p, s.realtime_ns) - (2 * t + 60)) <= pp_pieces_bound(&p, s.realtime_ns));
		pp_pieces_release(&p);
	}
	pp_wall_release(&w);
}

TEST(small_step_and_sleep)
{
	struct host h = {.step_ns = 5500000000, .step = 5000, .slept_ns = 20500000000, .slept = 60000000000, .slew = -200e-6};
	struct pp_wall w;

	CHECK_INT(follow(&w, &h, 30), 2);
	CHECK_INT(w.steps, 2);
	CHECK_INT(w.step[0].event, PP_WALL_STEPPED);
	CHECK(llabs(w.step[0].by_ns - 5000) <= w.step[0].error_ns);
	CHECK_INT(w.step[1].event, PP_WALL_SUSPENDED);
	CHECK(llabs(w.step[1].by_ns - 60000000000) <= w.step[1].error_ns);
	CHECK(w.step[1].tick_before_which >= 2 * 20000000000 && w.step[1].tick_after_which <= 2 * 21000000000);
	pp_wall_release(&w);
}

TEST(many_steps_are_counted)
{
	struct pp_wall w;

	CHECK_INT(pp_wall_init(&w, 2, NULL), 0);
	for (int i = 0; i < 100; i++) {
		struct host h = {.step_ns = 1, .step = i * 1000000000ll};
		struct pp_wall_sample s = at(&h, 1 + i * 1000000000ll);

		CHECK(pp_wall_add(&w, &s) >= 0);
	}
	CHECK_INT(w.steps, PP_WALL_STEPS);
	CHECK_INT(w.steps + w.steps_lost, 99);
	CHECK_INT(w.eras, PP_WALL_ERAS);
	pp_wall_release(&w);
	CHECK(pp_wall_init(&w, 0, NULL) < 0);
}

TEST(real)
{
	struct pp_wall_claim claim = {.error_most_ns = -1};
	struct pp_wall_sample s;
	struct timespec t;

	CHECK(pp_wall_claim(&claim) || claim.error_most_ns >= 0);
	pp_wall_read(PP_TICK_RAW, &s);
	clock_gettime(CLOCK_REALTIME, &t);
	CHECK(s.tick_after >= s.tick_before);
	CHECK(s.realtime_ns > 1600000000000000000);
	CHECK(s.boottime_ns >= s.monotonic_ns);
}

int main(void)
{
	slewed_is_not_stepped();
	step_is_named();
	small_step_and_sleep();
	many_steps_are_counted();
	real();
	return test_end();
}
