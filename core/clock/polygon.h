/* Cuts a convex polygon by half planes: the possible values of two unknowns after many inequalities. Called by band.c. In: a
 * rectangle and a*x + b*y <= c. Out: the extent in x and y. Fixed size, no allocation; a cut that would not fit is left out,
 * which only widens the answer. */
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

/* The whole box; then what of it has a * x + b * y <= c. Nothing is left: points is 0. */
void pp_polygon_init(struct pp_polygon *p, const struct pp_polygon_extent *box);
/* Leaves the part with a * x + b * y <= c. */
void pp_polygon_cut(struct pp_polygon *p, double a, double b, double c);
/* For a polygon that is not empty. */
struct pp_polygon_extent pp_polygon_extent(const struct pp_polygon *p);
