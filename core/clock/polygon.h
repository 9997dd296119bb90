/* A convex polygon cut by half planes: what two unknowns may be after so many inequalities. Called by band.c.
 * In: a rectangle and a*x + b*y <= c. Out: the extent in x and y. Fixed size, no allocation; where it would not fit the cut is left
 * out, which only makes the answer larger. */
#pragma once

#include <stddef.h>

enum { PP_POLYGON_POINTS = 64 };

struct pp_polygon {
	size_t points; /* 0: empty, the inequalities contradict each other */
	double x[PP_POLYGON_POINTS], y[PP_POLYGON_POINTS];
};

struct pp_polygon_extent {
	double x_low, x_high, y_low, y_high;
};

void pp_polygon_init(struct pp_polygon *p, const struct pp_polygon_extent *box);
void pp_polygon_cut(struct pp_polygon *p, double a, double b, double c);
/* Of a polygon that is not empty. */
struct pp_polygon_extent pp_polygon_extent(const struct pp_polygon *p);
