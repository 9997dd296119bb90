/* Bounds from hosts' clocks; see host_clock.h. Called by waiting.c, writers and readers. */
#include "aggregate/dataset/host_clock.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/partition.h"
#include "core/clock/wall.h"

enum { HOPS_MOST = 16 };

static int64_t of_stretch(const struct pp_row_clock_stretch *s, int64_t time_ns)
{
	double f = s->end_ns > s->begin_ns ? (double)(time_ns - s->begin_ns) / (double)(s->end_ns - s->begin_ns) : 0;
	double bound;

	if (s->bound_begin_ns == PP_BOUND_UNKNOWN || s->bound_end_ns == PP_BOUND_UNKNOWN)
		return PP_BOUND_UNKNOWN;
	bound = (double)s->bound_begin_ns + (double)(s->bound_end_ns - s->bound_begin_ns) * f +
	        4 * (double)s->bound_hump_ns * f * (1 - f);
	return bound >= 0 && bound < 9e18 ? (int64_t)ceil(bound) : PP_BOUND_UNKNOWN;
}

int64_t pp_host_clock_bound(const struct pp_row_host_clock *c, int64_t time_ns)
{
	if (!c->stretches || time_ns < c->stretch[0].begin_ns || time_ns > c->stretch[c->stretches - 1].end_ns)
		return c->host_bound_ns;
	return of_stretch(&c->stretch[PP_PARTITION(c->stretches, at, c->stretch[at].begin_ns <= time_ns) - 1], time_ns);
}

void pp_host_clock_release(struct pp_row_host_clock *c)
{
	free(c->sample);
	free(c->stretch);
	free(c->pair);
	free(c->change);
	*c = (struct pp_row_host_clock){.host_bound_ns = PP_BOUND_UNKNOWN};
}

static int is_bound(int64_t bound)
{
	return bound == PP_BOUND_UNKNOWN || (bound >= 0 && bound <= PP_TABLE_TIME_MAX);
}

const char *pp_host_clock_wrong(const void *row)
{
	const struct pp_row_host_clock *c = row;

	if (c->hops < 0 || c->hops > HOPS_MOST)
		return "how far a clock is from rank 0's";
	return is_bound(c->host_bound_ns) && is_bound(c->host_drift_error_ppb) ? NULL : "the bound of a clock";
}

const char *pp_clock_sample_wrong(const void *row)
{
	const struct pp_row_clock_sample *s = row;

	return s->sample_trips < 0 || s->half_ns < 0 ? "a comparison of clocks" : NULL;
}

const char *pp_clock_stretch_wrong(const void *row)
{
	const struct pp_row_clock_stretch *s = row;

	return s->begin_ns == INT64_MIN || s->end_ns < s->begin_ns || s->bound_begin_ns < 0 || s->bound_end_ns < 0 ||
	                       s->bound_hump_ns < 0
	               ? "a clock's bound over time"
	               : NULL;
}

const char *pp_clock_change_wrong(const void *row)
{
	const struct pp_row_clock_change *c = row;

	return c->from_ns == INT64_MIN || c->to_ns < c->from_ns || c->error_ns < 0 || c->event < 0 || c->event > PP_WALL_SUSPENDED
	               ? "a step of the wall clock"
	               : NULL;
}
