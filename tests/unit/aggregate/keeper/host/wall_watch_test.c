/* The keeper's watch of the wall clock on readings made by hand: what is told, dates of ticks and ticks of dates, cuts by time. */
#include "aggregate/keeper/host/wall_watch.h"

#include <errno.h>
#include <stdlib.h>

#include "aggregate/keeper/cluster/pod_cut.h"
#include "aggregate/session/clock_metadata.h"
#include "core/clock/band_solve.h"
#include "core/clock/pieces_make.h"
#include "tests/test.h"

#define SECOND INT64_C(1000000000)
#define DATE (INT64_C(1700000000) * SECOND)

enum { TICKS = 2 /* a ns */, WIDE = 120 };

struct host { /* by true ns */
	int64_t step_at, step, slept_at, slept;
	double slew;
};

static int64_t date_at(const struct host *h, int64_t t)
{
	return DATE + t + (int64_t)((double)t * h->slew) + (h->step_at && t >= h->step_at ? h->step : 0) +
	       (h->slept_at && t >= h->slept_at ? h->slept : 0);
}

static struct pp_wall_sample sample_at(const struct host *h, int64_t t)
{
	struct pp_wall_sample s = {.tick_before = TICKS * t - WIDE / 2, .tick_after = TICKS * t + WIDE / 2};

	s.realtime_ns = date_at(h, t);
	s.boottime_ns = s.realtime_ns - DATE - (h->step_at && t >= h->step_at ? h->step : 0);
	s.monotonic_ns = s.boottime_ns - (h->slept_at && t >= h->slept_at ? h->slept : 0);
	return s;
}

static void read_at(struct pp_wall_watch *w, const struct host *h, int64_t t)
{
	struct pp_wall_sample s = sample_at(h, t);

	pp_wall_watch_add(w, &s);
}

static void watch(struct pp_wall_watch *w, const struct host *h, int seconds)
{
	memset(w, 0, sizeof(*w));
	read_at(w, h, 0);
	read_at(w, h, 20000000);
	for (int i = 1; i < seconds; i++)
		read_at(w, h, i * SECOND);
}

static struct pp_clock_map line(void)
{
	struct pp_clock_pair a = {.tick = 0, .width_ns = 15}, b = {.tick = 20 * SECOND, .raw_ns = 10 * SECOND, .width_ns = 15};
	struct pp_clock_map map;

	CHECK_INT(pp_clock_map_init(&map, PP_TICK_TSC, &a, &b, TICKS * 3 * SECOND, NULL), 0); /* job ns 0 at 3 s */
	return map;
}

/* The date of an instant on the job's axis less that instant, as the session takes it. */
static int epoch_at(struct pp_wall_watch *w, const struct pp_clock_map *map, int64_t job_ns, int64_t *ret_epoch_ns)
{
	int64_t date, error;
	int rc = pp_wall_date(&w->wall, (int64_t)pp_clock_map_tick(map, job_ns), &date, &error, NULL);

	if (!rc)
		*ret_epoch_ns = date - job_ns;
	return rc;
}

TEST(what_is_reported)
{
	struct host h = {
	        .step_at = 10 * SECOND + 1, .step = -7 * SECOND, .slept_at = 20 * SECOND + 1, .slept = 60 * SECOND, .slew = 4e-4};
	struct pp_row_host_clock c = {.name = "h1", .host_bound_ns = 5};
	struct pp_wall_watch w;

	watch(&w, &h, 30);
	CHECK_INT(pp_wall_watch_fill(&w, &c), 0);
	CHECK_INT(c.host_bound_ns, 5);
	CHECK_INT(c.pairs, 31);
	for (size_t i = 0; i < c.pairs; i++) {
		CHECK(!i || c.pair[i].wall_time_ns > c.pair[i - 1].wall_time_ns);
		CHECK(llabs(date_at(&h, c.pair[i].wall_time_ns / TICKS) - c.pair[i].wall_realtime_ns) <= c.pair[i].wall_half_ns);
		CHECK(c.pair[i].wall_half_ns < 100);
	}
	CHECK_INT(c.changes, 2);
	CHECK_INT(c.change[0].event, PP_WALL_STEPPED);
	CHECK(llabs(c.change[0].by_ns - h.step) <= c.change[0].error_ns && c.change[0].error_ns < 1000);
	CHECK(c.change[0].from_ns <= TICKS * h.step_at && c.change[0].to_ns >= TICKS * h.step_at);
	CHECK(c.change[0].to_ns - c.change[0].from_ns < TICKS * SECOND + 2 * WIDE);
	CHECK_INT(c.change[1].event, PP_WALL_SUSPENDED);
	CHECK(llabs(c.change[1].by_ns - h.slept) <= c.change[1].error_ns);
	CHECK_INT(c.changes_lost, 0);
	CHECK(!c.claim.known || c.claim.error_most_ns >= 0);
	pp_host_clock_release(&c);
	pp_wall_watch_release(&w);
}

TEST(nothing_before_two_readings)
{
	struct pp_row_host_clock c = {.hops = 0};
	struct host h = {.slew = 0};
	struct pp_clock_map map = line();
	struct pp_wall_watch w;
	int64_t out = 17, error;

	memset(&w, 0, sizeof(w));
	CHECK_INT(epoch_at(&w, &map, 0, &out), -ENODATA);
	read_at(&w, &h, 0);
	read_at(&w, &h, 100000); /* too near to say how fast the tick is */
	CHECK_INT(epoch_at(&w, &map, 0, &out), -ENODATA);
	CHECK_INT(pp_wall_watch_tick(&w, DATE, &out, &error), -ENODATA);
	CHECK_INT(out, 17);
	CHECK_INT(pp_wall_watch_fill(&w, &c), 0);
	CHECK_INT(c.pairs, 0);
	CHECK_INT(c.changes, 0);
	pp_host_clock_release(&c);
	read_at(&w, &h, 10000000);
	CHECK_INT(pp_wall_watch_fill(&w, &c), 0);
	CHECK_INT(c.pairs, 2); /* the first one is kept */
	pp_host_clock_release(&c);
	pp_wall_watch_release(&w);
}

/* The epoch's date is right for a window that begins at 12 s, or at 5 s, with a step of the date at 10 s, and seen at 30 s. */
TEST(epoch_over_a_step)
{
	struct host h = {.step_at = 10 * SECOND + 1, .step = 3600 * SECOND, .slew = -2e-5};
	struct pp_clock_map map = line();
	struct pp_wall_watch w;
	int64_t epoch = 0;

	watch(&w, &h, 30);
	for (int64_t begin = 1; begin < 29; begin++) {
		int64_t job = (begin - 3) * SECOND + 500000000; /* of true time begin + 0.5 s */

		if (begin == 10)
			continue; /* between two readings: which date it was is not known */
		CHECK_INT(epoch_at(&w, &map, job, &epoch), 0);
		CHECK(llabs(epoch + job - date_at(&h, begin * SECOND + 500000000)) < 1000);
	}
	/* before the first reading: a rank is known as one when its first call ends */
	CHECK_INT(epoch_at(&w, &map, -4 * SECOND, &epoch), 0);
	CHECK(llabs(epoch - 4 * SECOND - date_at(&h, -SECOND)) < 100000);
	pp_wall_watch_release(&w);
}

TEST(many_steps)
{
	struct pp_row_host_clock c = {.hops = 0};
	struct pp_clock_map map = line();
	struct pp_wall_watch w;
	int64_t epoch, shown = 0;

	memset(&w, 0, sizeof(w));
	for (int i = 0; i < 200; i++) { /* the date goes forward by i s at second i */
		struct host h = {.step_at = 1, .step = i * (i + 1) / 2 * SECOND};

		read_at(&w, &h, i * SECOND + 2);
		shown = date_at(&h, i * SECOND + 2);
	}
	CHECK_INT(pp_wall_watch_fill(&w, &c), 0);
	CHECK_INT(c.changes, PP_WALL_STEPS);
	CHECK_INT(c.changes + c.changes_lost, 199);
	CHECK(llabs(c.change[c.changes - 1].by_ns - 199 * SECOND) <= c.change[c.changes - 1].error_ns);
	pp_host_clock_release(&c);
	for (int early = 0; early < 2; early++) { /* of a window in job time: what was lost was before a late one */
		struct pp_row_host_clock wall;
		struct pp_clock_metadata_input in = {.wall = &wall, .map = &map, .host = "h1", .own = "c"};

		in.from_tick = TICKS * (early ? 20 : 180) * SECOND;
		in.to_tick = TICKS * (190 * SECOND - 1000);
		CHECK_INT(pp_wall_watch_fill(&w, &wall), 0);
		CHECK_INT(pp_clock_metadata_finish(&in, &c, NULL), 0);
		CHECK_INT(c.changes_lost, early ? 199 - PP_WALL_STEPS : 0);
		CHECK_INT(c.changes, early ? 55 : 11);
		pp_host_clock_release(&c);
	}
	CHECK_INT(epoch_at(&w, &map, 196 * SECOND + 2, &epoch), 0);
	CHECK(llabs(epoch + 196 * SECOND + 2 - shown) < 1000);
	pp_wall_watch_release(&w);
}

/* A time whose era is not kept, but the steps since are. */
TEST(between_eras)
{
	struct pp_wall_watch w;
	int64_t date = 0, error = 0, tick = 0;

	memset(&w, 0, sizeof(w));
	for (int i = 0; i < 60; i++) { /* every third second a step of 100 s */
		struct host h = {.step_at = 1, .step = i / 3 * 100 * SECOND};

		read_at(&w, &h, i * SECOND + 2);
	}
	CHECK_INT(pp_wall_date(&w.wall, TICKS * (16 * SECOND + 500), &date, &error, NULL), 0);
	CHECK(error < INT64_MAX && llabs(date - (DATE + 516 * SECOND + 500)) <= error);
	CHECK_INT(pp_wall_watch_tick(&w, DATE + 516 * SECOND, &tick, &error), -ERANGE);
	CHECK_INT(pp_wall_watch_tick(&w, DATE + 1958 * SECOND, &tick, &error), 0);
	CHECK(llabs(tick - TICKS * 58 * SECOND) <= error && error < 1000);
	pp_wall_watch_release(&w);
}

/* A glance at every turn says between which turns it was; one that took long is no alarm. */
TEST(glances)
{
	struct host h = {.step_at = 1510 * (SECOND / 1000), .step = -50000};
	struct pp_row_host_clock c = {.hops = 0};
	struct pp_wall_watch w;
	int seen = 0;

	watch(&w, &h, 2); /* the last reading is at 1 s */
	for (int turn = 0; turn < 50; turn++) {
		struct pp_wall_sample s = sample_at(&h, SECOND + (2 * turn + 1) * SECOND / 100);

		if (turn == 10) { /* between its clocks the keeper was taken off its processor */
			s.tick_after += TICKS * SECOND / 1000;
			s.boottime_ns += SECOND / 2000;
			s.monotonic_ns += SECOND / 2000;
		}
		if (!pp_wall_watch_glance(&w, &s))
			continue;
		seen++;
		pp_wall_watch_add(&w, &s);
	}
	CHECK_INT(seen, 1);
	CHECK_INT(pp_wall_watch_fill(&w, &c), 0);
	CHECK_INT(c.changes, 1);
	CHECK(c.change[0].from_ns <= TICKS * h.step_at && c.change[0].to_ns >= TICKS * h.step_at);
	CHECK(c.change[0].to_ns - c.change[0].from_ns <= TICKS * SECOND / 50 + 2 * WIDE);
	CHECK(llabs(c.change[0].by_ns - h.step) <= c.change[0].error_ns);
	pp_host_clock_release(&c);
	pp_wall_watch_release(&w);
}

TEST(dates_of_others)
{
	struct host h = {.step_at = 10 * SECOND + 1, .step = 3600 * SECOND, .slew = 3e-4};
	struct pp_wall_watch w;

	watch(&w, &h, 30);
	for (int64_t t = SECOND; t < 29 * SECOND; t += 123456789) {
		int64_t tick = 0, error = 0;

		if (t > 9 * SECOND && t < 11 * SECOND)
			continue;
		CHECK_INT(pp_wall_watch_tick(&w, date_at(&h, t), &tick, &error), 0);
		CHECK(llabs(tick - TICKS * t) <= error);
		CHECK(error < TICKS * 2000);
	}
	pp_wall_watch_release(&w);
}

/* Days of readings are kept thinner, and the ends stay. */
TEST(many_readings)
{
	struct pp_row_host_clock c = {.hops = 0};
	struct host h = {.slew = 1e-5};
	struct pp_wall_watch w;

	watch(&w, &h, 20000);
	CHECK_INT(pp_wall_watch_fill(&w, &c), 0);
	CHECK(c.pairs > PP_WALL_SAMPLES / 2 && c.pairs <= PP_WALL_SAMPLES);
	CHECK(c.pair[0].wall_time_ns < TICKS * SECOND);
	CHECK(c.pair[c.pairs - 1].wall_time_ns > TICKS * 19998 * SECOND);
	for (size_t i = 1; i < c.pairs; i++)
		CHECK(c.pair[i].wall_time_ns > c.pair[i - 1].wall_time_ns &&
		      c.pair[i].wall_time_ns - c.pair[i - 1].wall_time_ns <= TICKS * 64 * SECOND);
	pp_host_clock_release(&c);
	pp_wall_watch_release(&w);
}

/* A follower whose ticks are 5000 s ahead of the leader's and 30 ppm faster: what the comparing leaves. */
static struct pp_pieces chain_of(const struct pp_clock_map *leader)
{
	struct pp_band_options o = {.tolerance = 1e-3};
	struct pp_pieces own, map, both;
	struct pp_band b;

	CHECK_INT(pp_band_init(&b, &o, NULL), 0);
	for (int i = 0; i < 5; i++) {
		int64_t leaders = TICKS * (2 + 5 * i) * SECOND, x = TICKS * 5000 * SECOND + leaders + leaders / 100000 * 3;
		struct pp_band_group *g = pp_band_begin(&b, x, leaders);

		CHECK_INT(pp_band_trip(&b, g, x - 4000, leaders - 100, leaders + 100, x + 4000), 0);
	}
	CHECK_INT(pp_band_solve(&b, NULL), 0);
	CHECK_INT(pp_pieces_of_band(&b, 10 * SECOND, &own, NULL), 0);
	CHECK_INT(pp_pieces_of_map(leader, 0, TICKS * 100 * SECOND, &map, NULL), 0);
	CHECK_INT(pp_pieces_join(&own, &map, &both, NULL), 0);
	pp_pieces_release(&own);
	pp_pieces_release(&map);
	pp_band_release(&b);
	return both;
}

TEST(cut_by_chain)
{
	struct pp_clock_map leader = line();
	struct pp_pieces chain = chain_of(&leader);
	struct pp_pod_window open = {.from = INT64_MIN, .to = INT64_MAX};

	for (int64_t t = 3 * SECOND; t < 20 * SECOND; t += 234567891) {
		int64_t leaders = TICKS * t, truth = TICKS * 5000 * SECOND + leaders + leaders / 100000 * 3;
		struct pp_pod_window w = {.from = leaders, .to = leaders + TICKS * SECOND};

		pp_pod_cut_by_chain(&leader, &chain, &w);
		CHECK(llabs(w.from - truth) <= TICKS * (pp_pieces_bound(&chain, w.from) + 2));
		CHECK(llabs(w.to - w.from - TICKS * SECOND) < TICKS * SECOND / 10000);
		CHECK(pp_pieces_map(&chain, w.from) >= pp_clock_map_ns(&leader, (pp_tick)leaders));
		CHECK(pp_pieces_map(&chain, w.from - 1) < pp_clock_map_ns(&leader, (pp_tick)leaders));
	}
	pp_pod_cut_by_chain(&leader, &chain, &open);
	CHECK(open.from == INT64_MIN && open.to == INT64_MAX);
	pp_pieces_release(&chain);
}

/* By dates: right where they are, and as long as asked for where the date is stepped meanwhile. */
TEST(cut_by_date)
{
	struct host h = {.step_at = 10 * SECOND + 1, .step = 3600 * SECOND};
	struct pp_pod_window dates = {.from = DATE + 8 * SECOND, .to = DATE + 12 * SECOND}, w = {.from = 0}, open = w;
	struct pp_wall_watch watched;

	watch(&watched, &h, 30);
	CHECK_INT(pp_pod_cut_by_date(&watched, &dates, &w), 0);
	CHECK(llabs(w.from - TICKS * 8 * SECOND) < 1000);
	CHECK(llabs(w.to - TICKS * 12 * SECOND) < 2000);
	dates = (struct pp_pod_window){.from = INT64_MIN, .to = DATE + 3620 * SECOND};
	CHECK_INT(pp_pod_cut_by_date(&watched, &dates, &w), 0);
	CHECK(w.from == INT64_MIN && llabs(w.to - TICKS * 20 * SECOND) < 1000);
	pp_wall_watch_release(&watched);
	CHECK_INT(pp_pod_cut_by_date(&watched, &dates, &open), -ENODATA);
	CHECK(open.from == INT64_MIN && open.to == INT64_MAX);
	CHECK_INT(pp_pod_cut_by_date(NULL, &dates, &open), -ENODATA);
}

/* This machine's own clocks: dates of the watch are the kernel's. */
TEST(real)
{
	struct pp_clock_pair a, b;
	struct timespec pause = {.tv_nsec = 10000000};
	struct pp_clock_map map;
	struct pp_wall_watch w;
	int64_t tick = 0, error = 0;

	pp_wall_watch_init(&w);
	CHECK(!strncmp(w.by, "kernel", 6));
	pp_clock_read_pair(PP_TICK_RAW, &a);
	pp_wall_watch_run(&w, PP_TICK_RAW, 1000);
	nanosleep(&pause, NULL);
	pp_wall_watch_run(&w, PP_TICK_RAW, 1020);
	CHECK_INT(w.samples, 2);
	pp_wall_watch_run(&w, PP_TICK_RAW, 1900); /* not yet */
	CHECK_INT(w.samples, 2);
	pp_wall_watch_run(&w, PP_TICK_RAW, 2100);
	pp_wall_watch_edge(&w, PP_TICK_RAW);
	CHECK_INT(w.samples, 4);
	pp_clock_read_pair(PP_TICK_RAW, &b);
	CHECK_INT(pp_clock_map_init(&map, PP_TICK_RAW, &a, &b, a.tick, NULL), 0);
	CHECK_INT(pp_wall_watch_tick(&w, b.realtime_ns, &tick, &error), 0);
	CHECK(llabs(tick - (int64_t)b.tick) < 10000000);
	pp_wall_watch_release(&w);
}

/* A job that was over before the first turn: its one edge is enough for a date. */
TEST(one_edge)
{
	struct pp_wall_watch w;
	int64_t tick = 0, error = 0;

	pp_wall_watch_init(&w);
	pp_wall_watch_edge(&w, PP_TICK_RAW);
	CHECK_INT(w.samples, 2);
	CHECK_INT(pp_wall_watch_tick(&w, w.first.realtime_ns, &tick, &error), 0);
	pp_wall_watch_edge(&w, PP_TICK_RAW);
	CHECK_INT(w.samples, 3);
	pp_wall_watch_release(&w);
}

int main(void)
{
	what_is_reported();
	nothing_before_two_readings();
	epoch_over_a_step();
	many_steps();
	between_eras();
	glances();
	dates_of_others();
	many_readings();
	cut_by_chain();
	cut_by_date();
	real();
	one_edge();
	return test_end();
}
