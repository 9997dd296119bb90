/* Virtual clocks under the real exchange: at every instant of every window of every rank the error is within the bound, and the
 * bound is useful. Offsets to 2 h, drift to 200 ppm and changing, asymmetric paths, stopped hosts, stepping clocks, two levels.
 * Where all delay is one way the error is all of the bound: a term that the bound lacks is found. */
#include <math.h>
#include <stdlib.h>

#include "core/clock/tree.h"
#include "tests/test.h"
#include "tests/unit/aggregate/keeper/clock/clock_sim.h"

enum { INSTANTS = 200, SECOND = 1000000000 };
static const int64_t FAR_STEP = 7200 * (int64_t)SECOND;

struct totals {
	uint64_t windows, unknown; /* unknown: rank-windows without a bound */
	uint64_t wrong;            /* instants with an error above the bound */
	double worst;              /* error / bound */
	double *ratio;             /* bound / half of the shortest round trip (the sum over the hops), median of a rank-window */
	size_t ratios, room;
};

static struct totals all;

static void add_ratio(struct totals *t, double ratio)
{
	if (t->ratios == t->room) {
		t->room = 2 * t->room + 1024;
		t->ratio = realloc(t->ratio, t->room * sizeof(*t->ratio));
		if (!t->ratio)
			abort();
	}
	t->ratio[t->ratios++] = ratio;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *value, size_t values)
{
	qsort(value, values, sizeof(*value), by_size);
	return value[values / 2];
}

/* Half of the shortest round trip that this host, and its hub, ever had: the least that any bound can be. */
static double half_trip(struct sim *s, uint32_t host)
{
	const struct pp_band *b = &s->host[host].x.band;
	uint32_t parent = s->host[host].x.o.parent;
	double least = INFINITY, rate = 1;

	for (size_t i = 0; i < b->groups; i++)
		least = fmin(least, b->group[i].least);
	if (parent) {
		rate = s->host[0].clock.rate / s->host[parent].clock.rate;
		return least * rate + half_trip(s, parent);
	}
	return least;
}

static void check_window(struct sim *s, uint32_t host, const struct pp_pieces *p, int64_t from, int64_t to, struct totals *t)
{
	int64_t worst = pp_pieces_worst(p, sim_tick(&s->host[host].clock, from), sim_tick(&s->host[host].clock, to));
	double bounds[INSTANTS], half = half_trip(s, host);
	int unknown = 0;

	for (int i = 0; i < INSTANTS; i++) {
		int64_t at = from + (int64_t)((double)(to - from) * sim_random(s));
		int64_t x = sim_tick(&s->host[host].clock, at), y = sim_tick(&s->host[0].clock, at);
		int64_t bound = pp_pieces_bound(p, x), error = llabs(pp_pieces_map(p, x) - y);

		bounds[i] = bound == INT64_MAX ? INFINITY : (double)bound;
		unknown |= bound == INT64_MAX;
		if (error > bound || bound > worst) {
			if (!t->wrong++)
				fprintf(stderr, "host %u at %lld: error %lld, bound %lld, worst of the window %lld\n", host,
				        (long long)at, (long long)error, (long long)bound, (long long)worst);
		}
		if (bound != INT64_MAX && (double)error / (double)bound > t->worst)
			t->worst = (double)error / (double)bound;
	}
	t->windows++;
	t->unknown += (uint64_t)unknown;
	add_ratio(t, median(bounds, INSTANTS) / half);
}

struct scene {
	const char *name;
	const struct sim_path *path;
	uint32_t hosts;           /* 0: 9 */
	double drift, sway, bend; /* +-, relative; bend: some time in the middle */
	int64_t period_ns;        /* of the sway; 0: 15 to 75 s */
	int64_t step_ns;          /* one clock in three steps by so much */
	int64_t stop_ns;          /* one host in four is stopped for so long from the third sync on; one is dead from the start */
	int turn;                 /* routes change while it runs */
	int few;                  /* the job has two rounds only, 5 s apart */
	int root_too;             /* the root's rate changes as well */
	double widest;            /* most that a median bound may be of half a trip; 0: 3 */
	int seeds;                /* 0: 8 */
};

static int64_t some_time(struct sim *s)
{
	return sim_between(s, 6 * (int64_t)SECOND, 24 * (int64_t)SECOND);
}

static void set_clocks(struct sim *s, const struct scene *c)
{
	uint32_t hubs = (uint32_t)pp_tree_hubs(s->hosts);

	for (uint32_t i = 0; i < s->hosts; i++) {
		struct sim_host *h = &s->host[i];
		/* The bound holds for two events between two bursts: where all is at once, hubs have none, others one each. */
		uint32_t kind = !hubs ? 3 : i > hubs ? i % 3 : 4;

		h->clock.rate = (double[]){1, 2.3, 1, 2.1, 0.96, 1.0 / 40}[i % 6 < 5 || i % 12 == 5 ? i % 6 : 0];
		h->clock.rate = h->clock.rate < 0.5 && (c->few || i <= hubs) ? 1 : h->clock.rate;
		h->clock.offset_ns = 7300 * (int64_t)SECOND + sim_between(s, -7200 * (int64_t)SECOND, 7200 * (int64_t)SECOND);
		h->clock.drift = c->drift * (2 * sim_random(s) - 1);
		if (c->sway > 0) {
			h->clock.sway = c->sway * sim_random(s);
			h->clock.period_ns = c->period_ns ? (double)c->period_ns : (15 + 60 * sim_random(s)) * SECOND;
			h->clock.phase = 7 * sim_random(s);
		}
		if (c->bend > 0 && (kind == 0 || (kind == 3 && (i % 2 || c->root_too)))) {
			h->clock.bend = c->bend * (2 * sim_random(s) - 1);
			h->clock.bend_ns = some_time(s);
		}
		if (c->step_ns && (kind == 1 || (kind == 3 && i % 3 == 1))) {
			h->clock.step = sim_between(s, -c->step_ns, c->step_ns);
			h->clock.step_ns = some_time(s);
		}
		h->path = *c->path;
		h->path.up *= 0.5 + sim_random(s);
		h->path.down *= 0.5 + sim_random(s);
		h->path.turn_ns = c->turn && (kind == 2 || kind == 3) ? some_time(s) : 0;
	}
}

/* Rounds as of a job: hosts join, a window of 30 s with a sync every 5 s, 2 s later one of 40 ms. */
static void rounds(struct sim *s, const struct scene *c)
{
	static const int64_t sync_ms[] = {30, 2000, 7000, 12000, 17000, 22000, 27000, 32000, 34000, 34040};
	size_t first = c->few ? 1 : 0, end = c->few ? 3 : sizeof(sync_ms) / sizeof(sync_ms[0]);

	for (size_t i = first; i < end; i++) {
		sim_run(s, sync_ms[i] * 1000000);
		for (uint32_t h = 1; c->stop_ns && h < s->hosts; h++) {
			s->host[h].dead = h == 2;
			s->host[h].stop_ns = h % 4 == 3 ? 6990 * (int64_t)1000000 : 0;
			s->host[h].go_ns = h % 4 == 3 ? s->host[h].stop_ns + c->stop_ns : 0;
		}
		while (s->host[0].x.round)
			sim_run(s, s->now + 1000000);
		CHECK(sim_round(s, i + 1, 25 * 1000000) >= 0);
	}
	sim_run(s, 36 * (int64_t)SECOND);
}

/* Every host but the root is a rank. A third window lies behind the last round, the way a job's end does. */
static void play(const struct scene *c, uint64_t seed, struct totals *t)
{
	static const int64_t window_ms[][2] = {{2000, 32000}, {34000, 34040}, {34040, 35900}};
	static const int64_t few_ms[][2] = {{2000, 7000}, {7000, 7100}, {7100, 7900}};
	struct sim s;

	CHECK_INT(sim_open(&s, c->hosts ? c->hosts : 9, seed), 0);
	set_clocks(&s, c);
	CHECK_INT(sim_connect(&s, 100), 0);
	rounds(&s, c);
	for (uint32_t h = 1; h < s.hosts; h++) {
		struct pp_pieces p;

		if (s.host[h].dead || s.host[s.host[h].x.o.parent].dead) {
			CHECK(!s.host[h].x.has_band || !s.host[h].x.band.groups);
			continue;
		}
		if (sim_pieces(&s, h, (int64_t)(10 * s.host[h].clock.rate * SECOND), &p, NULL)) {
			CHECK(0);
			continue;
		}
		for (int i = 0; i < 3; i++)
			check_window(&s, h, &p, (c->few ? few_ms : window_ms)[i][0] * 1000000,
			             (c->few ? few_ms : window_ms)[i][1] * 1000000, t);
		pp_pieces_release(&p);
	}
	sim_close(&s);
}

static void scene(const struct scene *c)
{
	struct totals t = {0};
	int seeds = c->seeds ? c->seeds : 8;
	double ratio;

	seeds = getenv("PODPROF_LONG") ? 40 * seeds : seeds;
	for (int i = 0; i < seeds; i++)
		play(c, (uint64_t)(i + 1) * 7919, &t);
	ratio = median(t.ratio, t.ratios);
	fprintf(stderr,
	        "%-36s %4llu rank-windows, %llu instants above the bound, worst %.3f of it, %llu unknown; median bound %.2f x half "
	        "a "
	        "trip\n",
	        c->name, (unsigned long long)t.windows, (unsigned long long)t.wrong, t.worst, (unsigned long long)t.unknown, ratio);
	CHECK_INT(t.wrong, 0);
	CHECK(t.windows > 0);
	CHECK(ratio <= (c->widest > 0 ? c->widest : 3));
	CHECK(t.worst > 0);
	if (c->step_ns < FAR_STEP)
		CHECK_INT(t.unknown, 0);
	else
		CHECK(t.unknown && t.unknown <= t.windows / 3);
	all.windows += t.windows;
	for (size_t i = 0; i < t.ratios; i++)
		add_ratio(&all, t.ratio[i]);
	free(t.ratio);
}

static const struct sim_path ethernet = {15000, 15000, 5000, 300000, 0.05, 0.001}, fabric = {1200, 1200, 200, 50000, 0.02, 0},
                             uneven = {60000, 10000, 20000, 500000, 0.1, 0.01}, crowded = {20000, 20000, 60000, 3000000, 0.3, 0.05},
                             one_way = {2400, 0, 50, 50000, 0.02, 0}, /* a node is off by all of its bound */
        at_hand = {100, 0, 5, 0, 0, 0};                               /* the bound is hardly more than the wander */

static const struct scene scenes[] = {
        {"steady clocks, ethernet", &ethernet, .drift = 200e-6},
        {"steady clocks, fast fabric", &fabric, .drift = 200e-6},
        {"swaying rates, ethernet", &ethernet, .drift = 200e-6, .sway = 0.3e-6},
        {"swaying rates, fast fabric", &fabric, .drift = 200e-6, .sway = 1e-6},
        {"new rates, fast fabric", &fabric, .drift = 200e-6, .sway = 0.05e-6, .bend = 30e-6},
        {"new rates, ethernet, the root's too", &ethernet, .drift = 200e-6, .sway = 0.05e-6, .bend = 30e-6, .root_too = 1},
        {"asymmetric paths", &uneven, .drift = 200e-6, .sway = 0.1e-6},
        {"all delay one way", &one_way, .drift = 200e-6, .sway = 0.1e-6},
        {"all delay one way, swaying", &one_way, .drift = 200e-6, .sway = 1e-6, .period_ns = 15000000000, .widest = 4, .seeds = 24},
        {"all delay one way, new rates", &one_way, .drift = 200e-6, .bend = 30e-6},
        {"routes that turn round", &one_way, .drift = 200e-6, .sway = 0.05e-6, .turn = 1},
        {"two rounds, as much as is assumed", &at_hand, .drift = 200e-6, .sway = 0.1e-6, .period_ns = 5000000000, .few = 1,
         .widest = 8},
        {"crowded network, losses", &crowded, .drift = 200e-6, .sway = 0.1e-6, .seeds = 6},
        {"stepping clocks", &ethernet, .drift = 100e-6, .sway = 0.05e-6, .step_ns = 2000000},
        {"stepping clocks, all delay one way", &one_way, .drift = 100e-6, .step_ns = 50000},
        {"stepping by up to 2 h", &ethernet, .drift = 100e-6, .step_ns = 7200 * (int64_t)SECOND},
        {"stopped for 14 ms, dead hosts", &ethernet, .drift = 200e-6, .sway = 0.05e-6, .stop_ns = 14000000},
        {"stopped for 12 s, dead hosts", &one_way, .drift = 200e-6, .sway = 0.05e-6, .stop_ns = 12000000000},
        {"two levels, 80 domains", &ethernet, 80, .drift = 200e-6, .sway = 0.1e-6, .seeds = 1},
        {"two levels, all of this at once", &one_way, 80, 200e-6, .1e-6, 10e-6, .step_ns = 50000, .stop_ns = 12000000000, .turn = 1,
         .widest = 4, .seeds = 1},
};

int main(void)
{
	double ratio;

	for (size_t i = 0; i < sizeof(scenes) / sizeof(scenes[0]); i++)
		scene(&scenes[i]);
	ratio = median(all.ratio, all.ratios);
	fprintf(stderr, "%llu rank-windows; median bound %.2f x half a trip\n", (unsigned long long)all.windows, ratio);
	CHECK(all.windows >= 1000);
	CHECK(ratio <= 3);
	free(all.ratio);
	return test_end();
}
