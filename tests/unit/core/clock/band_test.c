/* The band between two clocks: hand-made round trips; one clock or two. */
#include "core/clock/band.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "core/clock/band_solve.h"
#include "core/clock/causality.h"
#include "core/clock/polygon.h"
#include "core/clock/same_clock.h"
#include "core/clock/tree.h"
#include "tests/test.h"

TEST(polygon)
{
	struct pp_polygon_extent box = {-10, 10, -10, 10}, e;
	struct pp_polygon p;

	pp_polygon_init(&p, &box);
	pp_polygon_cut(&p, 1, 1, 0);
	pp_polygon_cut(&p, -1, 0, 4);
	e = pp_polygon_extent(&p);
	CHECK(e.x_low == -4 && e.x_high == 10 && e.y_low == -10 && e.y_high == 4);
	for (int i = 0; i < 1000; i++) /* rounder than it can hold: cuts are left out, and nothing breaks */
		pp_polygon_cut(&p, cos(i), sin(i), 3);
	CHECK(p.points > 3 && p.points <= PP_POLYGON_POINTS);
	pp_polygon_cut(&p, 1, 0, -100);
	CHECK_INT(p.points, 0);
	pp_polygon_cut(&p, 1, 0, 100);
	CHECK_INT(p.points, 0);
}

/* y = 3 h + 1.0001 x; trips of 10 us there and 10 us back, now and then 100. */
static int64_t other(int64_t x)
{
	return 10800000000000 + x + x / 10000;
}

static void burst(struct pp_band *b, int64_t x, int64_t (*clock)(int64_t), int trips)
{
	struct pp_band_group *g = pp_band_begin(b, x, clock(x + 10000));

	for (int i = 0; i < trips; i++, x += 150000) {
		int64_t late = i % 7 == 3 ? 100000 : 0, late_back = i % 5 == 2 ? 90000 : 0;

		CHECK_INT(pp_band_trip(b, g, x, clock(x + 10000 + late), clock(x + 11000 + late), x + 21000 + late + late_back), 0);
	}
}

TEST(line)
{
	struct pp_band_options o = {0};
	struct pp_band b;

	CHECK_INT(pp_band_init(&b, &o, NULL), 0);
	CHECK_INT(pp_band_solve(&b, NULL), -ENODATA);
	for (int k = 0; k < 4; k++)
		burst(&b, k * 5000000000ll, other, 30);
	CHECK_INT(pp_band_solve(&b, NULL), 0);
	CHECK_INT(b.nodes, 4);
	for (size_t k = 0; k < b.nodes; k++) {
		int64_t error = other(b.node[k].x) - b.node[k].y;

		CHECK(error >= b.node[k].low && error <= b.node[k].high);
		CHECK(llabs(error) < 1500);
		CHECK(b.node[k].high < 10600 && b.node[k].high > 9900);
		CHECK(fabs(b.node[k].least - 10000) < 2);
		CHECK_INT(b.node[k].samples, 30);
		CHECK_INT(b.node[k].flags, 0);
		CHECK(b.node[k].jump < 100);
	}
	pp_band_release(&b);
}

TEST(alone)
{
	struct pp_band_options o = {0};
	struct pp_band b;

	CHECK_INT(pp_band_init(&b, &o, NULL), 0);
	burst(&b, 77, other, 100);
	CHECK_INT(pp_band_solve(&b, NULL), 0);
	CHECK_INT(b.nodes, 1);
	CHECK(fabs(b.rate - 1.0001) <= b.rate_error);
	CHECK(b.rate_error <= 1e-3);
	CHECK(b.node[0].high < 11000);
	/* a burst that says nothing of one side, and one that contradicts itself */
	pp_band_up(&b, pp_band_begin(&b, 5000000000, other(5000000000)), 5000000000, other(5000000000));
	{
		struct pp_band_group *g = pp_band_begin(&b, 9000000000, other(9000000000));

		pp_band_up(&b, g, 9000000000, other(9000000000));
		pp_band_down(&b, g, 9000001000, other(9000900000));
	}
	CHECK_INT(pp_band_solve(&b, NULL), 0);
	CHECK_INT(b.nodes, 1);
	CHECK_INT(b.refused, 2);
	pp_band_release(&b);
}

TEST(stamps_that_cannot_be)
{
	struct pp_band_options o = {0};
	struct pp_band_group *g;
	struct pp_band b;

	CHECK_INT(pp_band_init(&b, &o, NULL), 0);
	g = pp_band_begin(&b, 1000, 5000);
	CHECK_INT(pp_band_trip(&b, g, 1000, 5000, 5010, 900), -EINVAL);       /* back before it left */
	CHECK_INT(pp_band_trip(&b, g, 1000, 5000, 4000, 2000), -EINVAL);      /* left before it came */
	CHECK_INT(pp_band_trip(&b, g, 1000, 5000, 9000, 2000), -EINVAL);      /* kept longer than it was away */
	CHECK_INT(pp_band_trip(&b, g, INT64_MIN, 5000, 5010, 2000), -EINVAL); /* no such time */
	CHECK_INT(pp_band_trip(&b, g, 1000, INT64_MAX, INT64_MAX, 2000), -EINVAL);
	CHECK_INT(g->samples, 0);
	CHECK_INT(g->ups + g->downs, 0);
	pp_band_release(&b);
}

static int64_t stepped(int64_t x)
{
	return other(x) + (x > 12500000000 ? 100000 : 0);
}

static int64_t jumped_far(int64_t x)
{
	return other(x) + (x > 12500000000 ? 3600000000000 : 0);
}

TEST(steps)
{
	struct pp_band_options o = {0};
	struct pp_band b;

	CHECK_INT(pp_band_init(&b, &o, NULL), 0);
	for (int k = 0; k < 6; k++)
		burst(&b, k * 5000000000ll, stepped, 50);
	CHECK_INT(pp_band_solve(&b, NULL), 0);
	CHECK_INT(b.nodes, 6);
	CHECK(b.node[2].flags & PP_BAND_JUMP);
	CHECK(b.node[2].jump > 90000);
	CHECK(!(b.node[0].flags & PP_BAND_JUMP) && !(b.node[4].flags & PP_BAND_JUMP));
	CHECK(b.node[0].jump < 5000);
	pp_band_release(&b);

	CHECK_INT(pp_band_init(&b, &o, NULL), 0);
	for (int k = 0; k < 6; k++)
		burst(&b, k * 5000000000ll, jumped_far, 50);
	CHECK_INT(pp_band_solve(&b, NULL), 0);
	CHECK(b.node[2].flags & PP_BAND_BROKEN);
	CHECK_INT(b.node[1].flags | b.node[3].flags, 0);
	pp_band_release(&b);
}

TEST(old_bursts_go)
{
	struct pp_band_options o = {.groups = 16};
	struct pp_band b;

	CHECK_INT(pp_band_init(&b, &o, NULL), 0);
	for (int k = 0; k < 200; k++)
		burst(&b, k * 1000000000ll, other, 10);
	CHECK_INT(pp_band_solve(&b, NULL), 0);
	CHECK(b.nodes <= 16 && b.nodes >= 8);
	CHECK(b.node[0].x < 2000000000);
	CHECK(b.node[b.nodes - 1].x > 198999000000);
	pp_band_release(&b);
}

TEST(same_clock)
{
	struct pp_same_clock s;

	pp_same_clock_init(&s);
	CHECK_INT(pp_same_clock_verdict(&s, 1000000), PP_SAME_UNKNOWN);
	pp_same_clock_trip(&s, 1000, 6000, 7000, 12000);
	CHECK_INT(pp_same_clock_verdict(&s, 1000000), PP_SAME_POSSIBLE);
	CHECK_INT(pp_same_clock_verdict(&s, 100), PP_SAME_UNKNOWN);
	pp_same_clock_trip(&s, 20000, 31000, 31500, 32000); /* 5 us there at least would make it 500 */
	CHECK_INT(pp_same_clock_verdict(&s, 1000000), PP_SAME_POSSIBLE);
	pp_same_clock_trip(&s, 1000000, 1006000 + 30000, 1007000 + 30000, 1012000); /* 30 us ahead */
	CHECK_INT(pp_same_clock_verdict(&s, 1000000), PP_SAME_FALSE);
	/* one that drifts away by 1 ppm is caught after some time, though every trip alone would let it pass */
	pp_same_clock_init(&s);
	for (int64_t t = 0; t < 100000000000; t += 5000000000)
		pp_same_clock_trip(&s, t, t + 10000 + t / 1000000, t + 11000 + t / 1000000, t + 21000);
	CHECK_INT(pp_same_clock_verdict(&s, 1000000), PP_SAME_FALSE);
	/* stamps of a stranger do not overflow */
	pp_same_clock_trip(&s, INT64_MIN, INT64_MAX, INT64_MIN, INT64_MAX);
	CHECK_INT(s.trips, 20);
}

TEST(causality)
{
	struct pp_causality c = {0};

	pp_causality_add(&c, 1000, 10, 2000, 10);
	pp_causality_add(&c, 2015, 10, 2000, 10);
	CHECK_INT(c.violated, 0);
	pp_causality_add(&c, 2025, 10, 2000, 10);
	pp_causality_add(&c, 2025, INT64_MAX, 2000, 10); /* a clock that is not joined proves nothing */
	CHECK_INT(c.pairs, 3);
	CHECK_INT(c.inverted, 1);
	CHECK_INT(c.violated, 1);
	CHECK_INT(c.worst_ns, 5);
}

TEST(tree)
{
	CHECK_INT(pp_tree_hubs(64), 0);
	CHECK_INT(pp_tree_hubs(65), 8);
	CHECK_INT(pp_tree_hubs(10240), 102);
	for (size_t n = 2; n < 400; n += 37) {
		size_t most = 0, children[400] = {0};

		for (size_t i = 1; i < n; i++) {
			size_t parent = pp_tree_parent(i, n);

			CHECK(parent == 0 || (parent <= pp_tree_hubs(n) && pp_tree_parent(parent, n) == 0 && i > pp_tree_hubs(n)));
			children[parent]++;
			most = parent && children[parent] > most ? children[parent] : most;
		}
		CHECK(most <= pp_tree_hubs(n));
	}
}

int main(void)
{
	polygon();
	line();
	alone();
	stamps_that_cannot_be();
	steps();
	old_bursts_go();
	same_clock();
	causality();
	tree();
	return test_end();
}
