/* Dates a window's epoch; see epoch.h. Called by session.c. */
#include "aggregate/session/epoch.h"

int64_t pp_epoch_window_begin(const struct pp_capture *c, const struct pp_steps *steps)
{
	int64_t begin = INT64_MAX;

	for (size_t i = 0; i < steps->steps * c->ranks; i++)
		if (steps->cell[i].present && steps->cell[i].begin < begin)
			begin = steps->cell[i].begin;
	return begin == INT64_MAX ? 0 : begin;
}

/* Spans are in the order of their begins. */
static int64_t first_span(const struct pp_capture *c)
{
	int64_t begin = INT64_MAX;

	for (size_t r = 0; r < c->ranks; r++)
		for (size_t t = 0; t < c->rank[r].threads && !c->rank[r].counts_other; t++)
			if (c->rank[r].thread[t].spans && c->rank[r].thread[t].span[0].begin < begin)
				begin = c->rank[r].thread[t].span[0].begin;
	return begin == INT64_MAX ? 0 : begin;
}

void pp_epoch_take(struct pp_capture *c, const struct pp_steps *steps, const struct pp_clock_map *clock, struct pp_wall *wall)
{
	int64_t begin = steps->steps ? pp_epoch_window_begin(c, steps) : first_span(c), date, error;

	if (wall && !pp_wall_date(wall, (int64_t)pp_clock_map_tick(clock, begin), &date, &error, NULL))
		c->epoch_realtime_ns = date - begin;
}
