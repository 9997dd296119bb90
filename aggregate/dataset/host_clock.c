/* Bounds out of what is known of hosts' clocks; see host_clock.h. Called by waiting.c, writers and readers. */
#include "aggregate/dataset/host_clock.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int64_t of_stretch(const struct pp_clock_stretch *s, int64_t time_ns)
{
	double f = s->end_ns > s->begin_ns ? (double)(time_ns - s->begin_ns) / (double)(s->end_ns - s->begin_ns) : 0;
	double bound;

	if (s->bound_begin_ns == PP_BOUND_UNKNOWN || s->bound_end_ns == PP_BOUND_UNKNOWN)
		return PP_BOUND_UNKNOWN;
	bound = (double)s->bound_begin_ns + (double)(s->bound_end_ns - s->bound_begin_ns) * f +
	        4 * (double)s->bound_hump_ns * f * (1 - f);
	return bound >= 0 && bound < 9e18 ? (int64_t)ceil(bound) : PP_BOUND_UNKNOWN;
}

int64_t pp_host_clock_bound(const struct pp_host_clock *c, int64_t time_ns)
{
	size_t low = 0, high = c->stretches;

	if (!high || time_ns < c->stretch[0].begin_ns || time_ns > c->stretch[high - 1].end_ns)
		return c->bound_ns;
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (c->stretch[middle].begin_ns <= time_ns)
			low = middle;
		else
			high = middle;
	}
	return of_stretch(&c->stretch[low], time_ns);
}

static void *rows_of(const void *from, size_t rows, size_t size, int *failed)
{
	void *copy = malloc(rows * size + 1);

	*failed |= !copy;
	if (copy && rows)
		memcpy(copy, from, rows * size);
	return copy;
}

int pp_host_clock_copy(const struct pp_host_clock *c, struct pp_host_clock *ret_copy)
{
	struct pp_host_clock copy = *c;
	int failed = 0;

	copy.sample = rows_of(c->sample, c->samples, sizeof(*c->sample), &failed);
	copy.stretch = rows_of(c->stretch, c->stretches, sizeof(*c->stretch), &failed);
	copy.pair = rows_of(c->pair, c->pairs, sizeof(*c->pair), &failed);
	copy.change = rows_of(c->change, c->changes, sizeof(*c->change), &failed);
	if (failed) {
		pp_host_clock_release(&copy);
		return -ENOMEM;
	}
	*ret_copy = copy;
	return 0;
}

void pp_host_clock_release(struct pp_host_clock *c)
{
	free(c->sample);
	free(c->stretch);
	free(c->pair);
	free(c->change);
	*c = (struct pp_host_clock){.bound_ns = PP_BOUND_UNKNOWN};
}
