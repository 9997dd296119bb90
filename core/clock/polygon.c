/* Cutting a convex polygon by half planes (Sutherland and Hodgman 1974); see polygon.h. Called by band.c. */
#include "core/clock/polygon.h"

void pp_polygon_init(struct pp_polygon *p, const struct pp_polygon_extent *box)
{
	p->points = box->x_low <= box->x_high && box->y_low <= box->y_high ? 4 : 0;
	p->x[0] = p->x[3] = box->x_low;
	p->x[1] = p->x[2] = box->x_high;
	p->y[0] = p->y[1] = box->y_low;
	p->y[2] = p->y[3] = box->y_high;
}

void pp_polygon_cut(struct pp_polygon *p, double a, double b, double c)
{
	struct pp_polygon cut = {0};

	for (size_t i = 0; i < p->points; i++) {
		size_t next = i + 1 < p->points ? i + 1 : 0;
		double here = a * p->x[i] + b * p->y[i] - c, there = a * p->x[next] + b * p->y[next] - c;

		if (cut.points + 2 > PP_POLYGON_POINTS)
			return;
		if (here <= 0) {
			cut.x[cut.points] = p->x[i];
			cut.y[cut.points++] = p->y[i];
		}
		if ((here < 0 && there > 0) || (here > 0 && there < 0)) {
			double part = here / (here - there);

			cut.x[cut.points] = p->x[i] + part * (p->x[next] - p->x[i]);
			cut.y[cut.points++] = p->y[i] + part * (p->y[next] - p->y[i]);
		}
	}
	*p = cut;
}

struct pp_polygon_extent pp_polygon_extent(const struct pp_polygon *p)
{
	struct pp_polygon_extent e = {p->x[0], p->x[0], p->y[0], p->y[0]};

	for (size_t i = 1; i < p->points; i++) {
		e.x_low = p->x[i] < e.x_low ? p->x[i] : e.x_low;
		e.x_high = p->x[i] > e.x_high ? p->x[i] : e.x_high;
		e.y_low = p->y[i] < e.y_low ? p->y[i] : e.y_low;
		e.y_high = p->y[i] > e.y_high ? p->y[i] : e.y_high;
	}
	return e;
}
