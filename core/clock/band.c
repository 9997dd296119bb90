/* Groups of inequalities and their hulls; see band.h. Called by the keeper; band_solve.c makes nodes of them. */
#include "core/clock/band.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const int64_t FAR = (int64_t)1 << 52; /* a double holds such a difference exactly */
static const int64_t EDGE = INT64_MAX / 4;   /* decades; beyond it sums of times would overflow */

int pp_band_init(struct pp_band *b, const struct pp_band_options *o, struct pp_err *err)
{
	struct pp_band band = {.o = *o, .back = INT64_MAX};

	band.o.rate = o->rate > 0 ? o->rate : 1;
	band.o.tolerance = o->tolerance > 0 ? o->tolerance : 1e-3;
	band.o.wander = o->wander > 0 ? o->wander : 1e-7;
	band.o.x_unit = o->x_unit > 0 ? o->x_unit : 1;
	band.o.y_unit = o->y_unit > 0 ? o->y_unit : 1;
	band.o.groups = o->groups > 8 ? o->groups : o->groups ? 8 : 1024;
	band.group = calloc(band.o.groups, sizeof(*band.group));
	band.node = calloc(band.o.groups, sizeof(*band.node));
	if (!band.group || !band.node) {
		pp_band_release(&band);
		return pp_err_set(err, -ENOMEM, "cannot compare clocks: no memory for %zu bursts", band.o.groups);
	}
	*b = band;
	return 0;
}

void pp_band_release(struct pp_band *b)
{
	free(b->group);
	free(b->node);
	memset(b, 0, sizeof(*b));
}

/* In the older half every second group is dropped: segments there become twice as long, and so their bound grows. */
static void thin(struct pp_band *b)
{
	size_t half = b->groups / 2, remaining = 1;

	for (size_t i = 1; i < b->groups; i++)
		if (i >= half || i % 2 == 0)
			b->group[remaining++] = b->group[i];
	b->groups = remaining;
}

struct pp_band_group *pp_band_begin(struct pp_band *b, int64_t x, int64_t y)
{
	struct pp_band_group *g;

	if (b->groups == b->o.groups)
		thin(b);
	g = &b->group[b->groups++];
	memset(g, 0, sizeof(*g));
	g->x = g->first = x;
	g->y = y;
	g->least = INFINITY;
	return g;
}

/* How far p lies above the chord of its neighbours; negative on all inner points of hulls that bend upwards. */
static double above_chord(const struct pp_band_point *left, const struct pp_band_point *p, const struct pp_band_point *right)
{
	double part = right->x > left->x ? (p->x - left->x) / (right->x - left->x) : 0;

	return p->y - (left->y + part * (right->y - left->y));
}

static void take_out(struct pp_band_point *point, uint32_t *points, uint32_t at)
{
	memmove(&point[at], &point[at + 1], (*points - at - 1) * sizeof(*point));
	--*points;
}

/* Does inequality a imply inequality c at every possible rate? */
static int says_more(const struct pp_band *b, const struct pp_band_point *a, const struct pp_band_point *c)
{
	double distance = c->x - a->x;

	return a->y + b->o.rate * (distance + b->o.tolerance * fabs(distance)) <= c->y;
}

/* Adds a point to the lower hull. A full hull drops the point where it bends least, which only widens the band. */
static void hull_add(const struct pp_band *b, struct pp_band_point *hull, uint32_t *hulls, struct pp_band_point p)
{
	struct pp_band_point point[PP_BAND_POINTS + 1];
	uint32_t points = 0, at = 0;

	for (uint32_t i = 0; i < *hulls; i++) {
		if (says_more(b, &hull[i], &p))
			return;
		if (!says_more(b, &p, &hull[i]))
			point[points++] = hull[i];
	}
	while (at < points && point[at].x < p.x)
		at++;
	memmove(&point[at + 1], &point[at], (points - at) * sizeof(*point));
	point[at] = p;
	points++;
	for (uint32_t i = 1; i + 1 < points;)
		if (above_chord(&point[i - 1], &point[i], &point[i + 1]) >= 0) {
			take_out(point, &points, i);
			i = i > 1 ? i - 1 : 1;
		} else {
			i++;
		}
	if (points > PP_BAND_POINTS) {
		uint32_t least = 1;

		for (uint32_t i = 2; i + 1 < points; i++)
			if (above_chord(&point[i - 1], &point[i], &point[i + 1]) >
			    above_chord(&point[least - 1], &point[least], &point[least + 1]))
				least = i;
		take_out(point, &points, least);
	}
	memcpy(hull, point, points * sizeof(*point));
	*hulls = points;
}

static int point_of(const struct pp_band_group *g, int64_t x, int64_t y, struct pp_band_point *ret_point)
{
	int64_t dx, dy;

	if (x > EDGE || x < -EDGE || y > EDGE || y < -EDGE || __builtin_sub_overflow(x, g->x, &dx) ||
	    __builtin_sub_overflow(y, g->y, &dy) || dx > FAR || dx < -FAR || dy > FAR || dy < -FAR)
		return -ERANGE;
	*ret_point = (struct pp_band_point){(double)dx, (double)dy};
	return 0;
}

void pp_band_up(const struct pp_band *b, struct pp_band_group *g, int64_t x, int64_t y)
{
	struct pp_band_point p;

	if (point_of(g, x, y, &p))
		return;
	p.y += b->o.y_unit;
	hull_add(b, g->up, &g->ups, p);
}

void pp_band_down(const struct pp_band *b, struct pp_band_group *g, int64_t x, int64_t y)
{
	struct pp_band_point upside_down[PP_BAND_POINTS];
	struct pp_band_point p;

	if (point_of(g, x, y, &p))
		return;
	/* The same hull in the mirror: x and y change their signs, so that rates keep theirs. */
	for (uint32_t i = 0; i < g->downs; i++)
		upside_down[g->downs - 1 - i] = (struct pp_band_point){-g->down[i].x, -g->down[i].y};
	hull_add(b, upside_down, &g->downs, (struct pp_band_point){-p.x, -(p.y - b->o.x_unit * b->o.rate)});
	for (uint32_t i = 0; i < g->downs; i++)
		g->down[g->downs - 1 - i] = (struct pp_band_point){-upside_down[i].x, -upside_down[i].y};
}

int pp_band_trip(const struct pp_band *b, struct pp_band_group *g, int64_t x_out, int64_t y_in, int64_t y_out, int64_t x_in)
{
	struct pp_band_point out, in, there, back;
	double away, held;

	if (point_of(g, x_out, y_in, &out) || point_of(g, x_in, y_out, &in))
		return -EINVAL;
	there = (struct pp_band_point){out.x, out.y};
	back = (struct pp_band_point){in.x, in.y};
	away = (back.x - there.x) * b->o.rate;
	held = back.y - there.y;
	/* A reply cannot have been held longer than the packet was away. */
	if (away < 0 || held < 0 || held > away * (1 + b->o.tolerance) + b->o.y_unit + b->o.x_unit * b->o.rate)
		return -EINVAL;
	pp_band_up(b, g, x_out, y_in);
	pp_band_down(b, g, x_in, y_out);
	g->samples++;
	if ((away - held) / 2 < g->least) {
		g->least = fmax((away - held) / 2, 0);
		g->x_out = x_out;
		g->y_in = y_in;
		g->y_out = y_out;
		g->x_in = x_in;
	}
	return 0;
}
