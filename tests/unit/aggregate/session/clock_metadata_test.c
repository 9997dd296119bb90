/* What is told of a clock: the bound over time is that of the chain it was made of, at every instant; samples and dates are those
 * of the window, one before it and one behind it. */
#include "aggregate/keeper/clock/clock_link.h"
#include "aggregate/session/clock_metadata.h"

#include <stdlib.h>

#include "aggregate/dataset/dataset.h"
#include "core/clock/band_solve.h"
#include "core/clock/pieces.h"
#include "core/clock/pieces_make.h"
#include "tests/unit/aggregate/dataset/block_kit.h"

enum { BURSTS = 12, TRIPS = 20, SECOND = 1000000000 };
#define AHEAD INT64_C(7200000000000)

/* The parent's ticks at x of ours: hours behind, 20 ppm faster, swaying. */
static int64_t truth(int64_t x)
{
	return x - AHEAD + (x - AHEAD) / 50000 + (x - AHEAD) / SECOND % 7;
}

static struct pp_band made_band(void)
{
	struct pp_band b;

	CHECK_INT(pp_band_init(&b, &(struct pp_band_options){.rate = 1}, NULL), 0);
	for (int64_t i = 0; i < BURSTS; i++) {
		struct pp_band_group *g = NULL;

		for (int64_t k = 0; k < TRIPS; k++) {
			int64_t out = AHEAD + SECOND + i * 5 * SECOND + k * 30000;
			int64_t in = out + 4000 + (int64_t)kit_random(4000), left = in + 500,
			        back = left + 4000 + (int64_t)kit_random(4000);

			g = g ? g : pp_band_begin(&b, out, truth(in));
			CHECK_INT(pp_band_trip(&b, g, out, truth(in), truth(left), back), 0);
		}
	}
	CHECK_INT(pp_band_solve(&b, NULL), 0);
	return b;
}

static void check_bounds(const struct pp_row_host_clock *c, const struct pp_pieces *p, int64_t from, int64_t to)
{
	for (int i = 0; i < 1000; i++) {
		int64_t x = from + (int64_t)kit_random((uint64_t)(to - from)), at = pp_pieces_map(p, x);
		int64_t said = pp_host_clock_bound(c, at), was = pp_pieces_bound(p, x);

		CHECK(said >= was - 1 && said <= was + 4 && said <= c->host_bound_ns + 3);
		CHECK(llabs(at - truth(x)) <= said);
	}
	CHECK(c->stretch[0].begin_ns == pp_pieces_map(p, from) && c->stretch[c->stretches - 1].end_ns == pp_pieces_map(p, to));
	for (size_t i = 1; i < c->stretches; i++)
		CHECK_INT(c->stretch[i].begin_ns, c->stretch[i - 1].end_ns);
}

static void check_samples(const struct pp_row_host_clock *c, const struct pp_clock_metadata *t, const struct pp_pieces *p,
                          int64_t from, int64_t to)
{
	size_t last = c->samples - 1;

	CHECK(c->samples >= 2 && c->sample[0].residual_ns == 0 && c->sample[last].residual_ns == 0);
	CHECK(last == 1 || (c->sample[1].time_ns > pp_pieces_map(p, from) && c->sample[last - 1].time_ns < pp_pieces_map(p, to)));
	CHECK(from < t->node[0].x || c->sample[0].time_ns <= pp_pieces_map(p, from));
	CHECK(to > t->node[t->nodes - 1].x || c->sample[last].time_ns >= pp_pieces_map(p, to));
	for (size_t i = 0; i < c->samples; i++) {
		const struct pp_row_clock_sample *s = &c->sample[i];

		CHECK(s->sample_trips == TRIPS && s->half_ns > 0 && 2 * s->half_ns <= s->t4 - s->t1 - (s->t3 - s->t2) + 4);
		CHECK(truth(s->t1) <= s->t2 && truth(s->t4) >= s->t3 && llabs(s->residual_ns) < 20000);
		CHECK(s->t1 >= t->node[0].x - SECOND && llabs(pp_pieces_map(p, s->t1) - s->time_ns) < SECOND / 1000);
	}
}

TEST(any_window)
{
	struct pp_band b = made_band();
	struct pp_clock_metadata t = {.parent = "first", .hops = 1, .node = b.node, .nodes = b.nodes, .trips = 240, .lost = 3};
	struct pp_clock_pair first = {.tick = AHEAD, .raw_ns = AHEAD};
	struct pp_pieces p;
	struct pp_clock_map map = {.pieces = &p};

	CHECK_INT(b.nodes, BURSTS);
	CHECK_INT(pp_pieces_of_band(&b, 3600LL * SECOND, &p, NULL), 0);
	for (int i = 0; i < 100 && !test_failures; i++) {
		int64_t from = AHEAD + (int64_t)kit_random(58LL * SECOND), to = from + 1 + (int64_t)kit_random(20LL * SECOND);
		struct pp_clock_metadata_input in = {.exchange = &t,
		                                     .map = &map,
		                                     .first = &first,
		                                     .kind = PP_TICK_RAW,
		                                     .host = "other",
		                                     .own = "raw",
		                                     .from_tick = from,
		                                     .to_tick = to};
		struct pp_row_host_clock c;

		in.bound_ns = pp_pieces_worst(&p, from, to);
		CHECK_INT(pp_clock_metadata_finish(&in, &c, NULL), 0);
		CHECK_STR(c.parent, "first");
		CHECK(c.hops == 1 && c.trips == 240 && c.lost == 3 && c.host_bound_ns == in.bound_ns);
		CHECK(llabs(c.host_offset_ns - (pp_pieces_map(&p, from) - from)) <= 1 &&
		      llabs(c.host_drift_ppb - 20000) <= c.host_drift_error_ppb + 1 && c.host_drift_error_ppb < 3000);
		check_bounds(&c, &p, from, to);
		check_samples(&c, &t, &p, from, to);
		pp_host_clock_release(&c);
	}
	pp_pieces_release(&p);
	pp_band_release(&b);
}

/* Rank 0's own, one that was never compared, and one that was in vain. */
TEST(no_chain)
{
	struct pp_clock_map map = {.num = 1};
	struct pp_clock_metadata t = {.rounds = 7, .round_ns = 5}, again = {.nodes = 0};
	struct pp_clock_metadata_input in = {
	        .exchange = &t, .map = &map, .kind = PP_TICK_RAW, .host = "h", .own = "o", .from_tick = 5, .to_tick = 9};
	struct pp_row_host_clock c;
	char text[256];

	CHECK_INT(pp_clock_metadata_finish(&in, &c, NULL), 0);
	CHECK(!c.samples && !c.stretches && !c.host_bound_ns && !c.hops && c.rounds == 7 && c.round_ns == 5);
	t.rounds = 9;
	t.cpu_ns = 11;
	pp_clock_metadata_print(&t, text, sizeof(text));
	pp_clock_metadata_scan(text, &c);
	CHECK(c.rounds == 9 && c.round_ns == 5 && c.cpu_ns == 11);
	pp_clock_metadata_scan("12 of something else", &c);
	CHECK(c.rounds == 9);
	pp_host_clock_release(&c);
	in.exchange = NULL;
	in.bound_ns = PP_BOUND_UNKNOWN;
	CHECK_INT(pp_clock_metadata_finish(&in, &c, NULL), 0);
	CHECK(c.host_bound_ns == PP_BOUND_UNKNOWN && pp_host_clock_bound(&c, 7) == PP_BOUND_UNKNOWN);
	pp_host_clock_release(&c);
	pp_clock_metadata_take(&again, NULL, "hub", 2);
	CHECK(again.hops == 2 && !again.nodes);
	CHECK_STR(again.parent, "hub");
	pp_clock_metadata_release(&again);
}

int main(void)
{
	any_window();
	no_chain();
	return test_end();
}
