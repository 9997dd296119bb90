/* From hulls to nodes: the interval of each group, first alone, then by the line that it shares with its neighbours. Called by
 * the keeper and the fits through pp_band_solve(); see band.h. */
#include "core/clock/band_solve.h"

#include <errno.h>
#include <math.h>

#include "core/clock/band.h"
#include "core/clock/polygon.h"

enum {
	NEAR = 4,    /* segments on each side from which a segment's wander is estimated */
	PASSES = 2,  /* the second pass takes slopes from the first one's narrower intervals */
	RAISES = 16, /* the wander doubles at most this often before a segment counts as broken */
};
static const double ROUNDING = 1e-3;     /* of the polygon's arithmetic, in y ticks: far above the true error */
static const double OSCILLATOR = 5e-6;   /* no oscillator changes its rate by so much within seconds */
static const double WANDER_FACTOR = 1.5; /* margin over what neighbours show: the unseen change may be larger */
static const double LONG_ENOUGH = 0.75;  /* of a segment: least length of a line beside it that bounds its slope */
static const double LEARN_MOST = 5e-6;   /* a larger change is a jump, not a property of the oscillator */
static const double WEAK = 4;            /* a node with an interval this much wider than its neighbours allow is dropped */
static const double UNBOUNDED = 1e15;    /* y ticks: weeks */

/* Moves the origin to the group's middle, so that inequalities are carried the shortest way. */
static void to_middle(const struct pp_band *b, struct pp_band_group *g)
{
	double low = fmin(g->up[0].x, g->down[0].x), high = fmax(g->up[g->ups - 1].x, g->down[g->downs - 1].x);
	double x = round(low + (high - low) / 2), y = round(x * b->o.rate);

	g->x += (int64_t)x;
	g->y += (int64_t)y;
	for (uint32_t i = 0; i < g->ups; i++)
		g->up[i] = (struct pp_band_point){g->up[i].x - x, g->up[i].y - y};
	for (uint32_t i = 0; i < g->downs; i++)
		g->down[i] = (struct pp_band_point){g->down[i].x - x, g->down[i].y - y};
}

/* The group alone: y offset against rate, within the possible rates. 0: it contradicts itself. */
static int solve_alone(const struct pp_band *b, const struct pp_band_group *g, struct pp_polygon_extent *ret)
{
	double most = b->o.rate * b->o.tolerance, slack = 2 * b->o.wander * b->o.rate;
	struct pp_polygon_extent box = {-UNBOUNDED, UNBOUNDED, -most, most};
	struct pp_polygon p;

	for (uint32_t i = 0; i < g->ups; i++)
		box.x_high = fmin(box.x_high, g->up[i].y - g->up[i].x * b->o.rate + fabs(g->up[i].x) * most + ROUNDING);
	for (uint32_t i = 0; i < g->downs; i++)
		box.x_low = fmax(box.x_low, g->down[i].y - g->down[i].x * b->o.rate - fabs(g->down[i].x) * most - ROUNDING);
	pp_polygon_init(&p, &box);
	for (uint32_t i = 0; i < g->ups; i++)
		pp_polygon_cut(&p, 1, g->up[i].x, g->up[i].y - g->up[i].x * b->o.rate + slack * fabs(g->up[i].x) + ROUNDING);
	for (uint32_t i = 0; i < g->downs; i++)
		pp_polygon_cut(&p, -1, -g->down[i].x,
		               -(g->down[i].y - g->down[i].x * b->o.rate) + slack * fabs(g->down[i].x) + ROUNDING);
	if (!p.points)
		return 0;
	*ret = pp_polygon_extent(&p);
	return 1;
}

static double centre(const struct pp_band_node *n)
{
	return n->low + (n->high - n->low) / 2;
}

static double half(const struct pp_band_node *n)
{
	return (n->high - n->low) / 2;
}

/* Mean rate between two nodes, less the nominal one. */
static double rate_between(const struct pp_band *b, size_t from, size_t to)
{
	const struct pp_band_node *a = &b->node[from], *c = &b->node[to];
	double x = (double)(c->x - a->x);

	return ((double)(c->y - a->y) - x * b->o.rate + centre(c) - centre(a)) / x;
}

static double length(const struct pp_band *b, size_t from, size_t to)
{
	return (double)(b->node[to].x - b->node[from].x);
}

/* How far one end of segment k is off the line that the nodes before it (or behind it) draw. NAN: there is no line at least as
 * long as the segment; a shorter one would only show its own noise. */
static double off_line(const struct pp_band *b, size_t k, int before)
{
	double d = length(b, k, k + 1);
	size_t near = before ? k : k + 1, far = near;

	if (before)
		while (far > 0 && length(b, far, near) < LONG_ENOUGH * d && !(b->node[far - 1].flags & PP_BAND_BROKEN))
			far--;
	else
		while (far + 1 < b->nodes && length(b, near, far) < LONG_ENOUGH * d && !(b->node[far].flags & PP_BAND_BROKEN))
			far++;
	if (far == near || fabs(length(b, far, near)) < d / 2)
		return NAN;
	return fabs(rate_between(b, k, k + 1) - rate_between(b, far < near ? far : near, far < near ? near : far)) * d;
}

/* The largest change of rate that long enough segments near k show, proven or not. A swaying rate crosses its mean somewhere,
 * and there the segment's own neighbours show nothing. */
static double seen_near(const struct pp_band *b, size_t k)
{
	size_t i = k > NEAR ? k - NEAR : 0;
	double most = 0;

	for (; i + 1 < b->nodes && i <= k + NEAR; i++) {
		double d = length(b, i, i + 1), change;

		if (b->node[i].flags & PP_BAND_BROKEN || d < LONG_ENOUGH * length(b, k, k + 1))
			continue;
		change = fmax(off_line(b, i, 1), off_line(b, i, 0)) / d; /* of a NAN and a number fmax() takes the number */
		if (change > most && change < LEARN_MOST * b->o.rate)
			most = change;
	}
	return most / b->o.rate;
}

/* Estimates the segment's own wander from the assumption and its neighbours. Two steps or rate changes inside the segment are
 * never worse than the larger of the two. One would never be worse than the smaller, but nothing proves that there is only one. */
static void judge(struct pp_band *b, size_t k, double learned)
{
	struct pp_band_node *n = &b->node[k];
	double before = off_line(b, k, 1), after = off_line(b, k, 0), d = length(b, k, k + 1) * b->o.rate;
	double noise = half(n) + half(n + 1);

	n->flags &= (unsigned)~(PP_BAND_ASSUMED | PP_BAND_JUMP);
	n->wander = fmax(fmax(n->wander, seen_near(b, k)), fmax(b->o.wander, learned));
	n->jump = fmax(isnan(before) ? 0 : before, isnan(after) ? 0 : after);
	n->jump += fmin(n->jump, 2 * b->o.wander * d); /* the wander may have hidden that much of the jump */
	if (isnan(before) && isnan(after))
		n->flags |= PP_BAND_ASSUMED;
	if (n->jump > OSCILLATOR * d + noise)
		n->flags |= PP_BAND_JUMP;
}

/* Wander that neighbours prove: a change of rate that no choice inside their intervals explains. */
static double learn(const struct pp_band *b)
{
	double learned = 0;

	for (size_t k = 1; k + 1 < b->nodes; k++) {
		double d = length(b, k - 1, k), e = length(b, k, k + 1), change;
		double noise = (half(&b->node[k - 1]) + half(&b->node[k])) / d + (half(&b->node[k]) + half(&b->node[k + 1])) / e;

		if ((b->node[k - 1].flags | b->node[k].flags) & PP_BAND_BROKEN)
			continue;
		change = fabs(rate_between(b, k, k + 1) - rate_between(b, k - 1, k)) - noise;

		if (change > learned && change < LEARN_MOST * b->o.rate)
			learned = change;
	}
	return WANDER_FACTOR * learned / b->o.rate;
}

/* One line through both groups, but for the wander: y offsets of both nodes are the unknowns. 0: there is no such line. */
static int solve_segment(const struct pp_band *b, size_t k, struct pp_polygon_extent *ret)
{
	const struct pp_band_node *n = &b->node[k];
	double d = length(b, k, k + 1), mean = (double)(n[1].y - n->y) / d;
	double slack = 2 * (n->wander * b->o.rate + n->jump / d);
	struct pp_polygon_extent box = {n->low, n->high, n[1].low, n[1].high};
	struct pp_polygon p;

	pp_polygon_init(&p, &box);
	for (int end = 0; end < 2; end++) {
		const struct pp_band_group *g = &b->group[n[end].group];

		for (uint32_t i = 0; i < g->ups; i++) {
			double x = g->up[i].x, part = x / d;

			pp_polygon_cut(&p, 1 - end - part, end + part, g->up[i].y - x * mean + slack * fabs(x) + ROUNDING);
		}
		for (uint32_t i = 0; i < g->downs; i++) {
			double x = g->down[i].x, part = x / d;

			pp_polygon_cut(&p, end - 1 + part, -end - part, -(g->down[i].y - x * mean) + slack * fabs(x) + ROUNDING);
		}
	}
	if (!p.points)
		return 0;
	*ret = pp_polygon_extent(&p);
	return 1;
}

static void narrow(struct pp_band *b, size_t k)
{
	struct pp_band_node *n = &b->node[k];
	struct pp_polygon_extent e;

	for (int i = 0; i < RAISES; i++) {
		if (solve_segment(b, k, &e)) {
			if (i)
				n->flags |= PP_BAND_BENT;
			n[0].low = e.x_low;
			n[0].high = e.x_high;
			n[1].low = e.y_low;
			n[1].high = e.y_high;
			return;
		}
		n->wander *= 2;
	}
	n->flags |= PP_BAND_BROKEN;
}

/* The clock may have been set back right after the node before, and have shown all times since twice. */
static void went_back(struct pp_band *b, const struct pp_band_group *g, const struct pp_band_node *before)
{
	double since = fmax(0, (double)(g->y - before->y)) / b->o.rate * (1 + b->o.tolerance);
	int64_t x = g->x - (int64_t)fmin(since, UNBOUNDED) - 1;

	b->back = x < b->back ? x : b->back;
}

/* Makes one node for each group that bounds both sides. */
static void make_nodes(struct pp_band *b)
{
	struct pp_polygon_extent e;

	b->nodes = 0;
	b->refused = 0;
	b->back = INT64_MAX;
	for (size_t i = 0; i < b->groups; i++) {
		struct pp_band_group *g = &b->group[i];

		if (!g->ups || !g->downs) {
			b->refused += g->ups || g->downs;
			continue;
		}
		to_middle(b, g);
		if (b->nodes && g->x <= b->node[b->nodes - 1].x)
			went_back(b, g, &b->node[b->nodes - 1]);
		if ((b->nodes && g->x <= b->node[b->nodes - 1].x) || !solve_alone(b, g, &e)) {
			b->refused++;
			continue;
		}
		b->node[b->nodes++] = (struct pp_band_node){.x = g->x,
		                                            .y = g->y,
		                                            .low = e.x_low,
		                                            .high = e.x_high,
		                                            .rate = b->o.rate,
		                                            .least = g->least,
		                                            .x_out = g->x_out,
		                                            .y_in = g->y_in,
		                                            .y_out = g->y_out,
		                                            .x_in = g->x_in,
		                                            .samples = g->samples,
		                                            .group = i};
		b->rate = b->o.rate + e.y_low + (e.y_high - e.y_low) / 2;
		b->rate_error = (e.y_high - e.y_low) / 2;
	}
}

/* Half width of the interval that the other nodes allow at node k. INFINITY: too few others. */
static double others_say(const struct pp_band *b, size_t k)
{
	size_t near = k ? k - 1 : 1, far = k ? k - 2 : 2;
	double d, distance;

	if (k && k + 1 < b->nodes) {
		distance = length(b, k - 1, k + 1) * b->o.rate;
		return fmax(half(&b->node[k - 1]), half(&b->node[k + 1])) + b->o.wander * distance / 2;
	}
	if (b->nodes < 3)
		return INFINITY;
	d = fabs(length(b, far, near));
	distance = fabs(length(b, near, k));
	return half(&b->node[near]) + (half(&b->node[near]) + half(&b->node[far])) * distance / d +
	       2 * b->o.wander * distance * b->o.rate;
}

/* Drops a burst that lost most of its packets: it bounds less than its neighbours and would pass its noise on to them. */
static void drop_weak(struct pp_band *b)
{
	size_t remaining = 0;

	for (size_t k = 0; k < b->nodes; k++)
		if (half(&b->node[k]) > WEAK * others_say(b, k))
			b->node[k].flags = PP_BAND_BROKEN;
	for (size_t k = 0; k < b->nodes; k++)
		if (!b->node[k].flags)
			b->node[remaining++] = b->node[k];
	b->weak = b->nodes - remaining;
	b->nodes = remaining;
}

int pp_band_solve(struct pp_band *b, struct pp_err *err)
{
	make_nodes(b);
	if (!b->nodes)
		return pp_err_set(err, -ENODATA, "cannot compare clocks: no round trip came back");
	drop_weak(b);
	for (size_t k = 0; k + 1 < b->nodes; k++) {
		double noise = (half(&b->node[k]) + half(&b->node[k + 1])) / length(b, k, k + 1);

		if (fabs(rate_between(b, k, k + 1)) > b->o.rate * b->o.tolerance + noise || b->node[k + 1].x > b->back)
			b->node[k].flags |= PP_BAND_BROKEN;
	}
	for (int pass = 0; pass < PASSES; pass++) {
		double learned = learn(b);

		for (size_t k = 0; k + 1 < b->nodes; k++)
			if (!(b->node[k].flags & PP_BAND_BROKEN))
				judge(b, k, learned);
		for (size_t k = 0; k + 1 < b->nodes; k++)
			if (!(b->node[k].flags & PP_BAND_BROKEN))
				narrow(b, k);
	}
	for (size_t k = 0; k < b->nodes; k++) {
		struct pp_band_node *n = &b->node[k];
		double middle = round(centre(n));

		n->y += (int64_t)middle;
		n->low -= middle;
		n->high -= middle;
	}
	if (b->back < INT64_MAX)
		b->node[b->nodes - 1].flags |= PP_BAND_BROKEN;
	b->node[b->nodes - 1].wander = b->nodes > 1 ? b->node[b->nodes - 2].wander : b->o.wander;
	b->node[b->nodes - 1].jump = b->nodes > 1 ? b->node[b->nodes - 2].jump : 0;
	return 0;
}
