/* Hosts' clocks of several parts in one dataset; see merge.h. Called by merge.c, when workers are merged. */
#include <errno.h>
#include <stdlib.h>

#include "aggregate/dataset/merge_part.h"
#include "core/base/wrap.h"

static void shift_times(struct pp_host_clock *c, int64_t shift)
{
	c->offset_ns = pp_wrap_plus(c->offset_ns, shift);
	for (size_t i = 0; i < c->samples; i++)
		c->sample[i].time_ns = pp_wrap_plus(c->sample[i].time_ns, shift);
	for (size_t i = 0; i < c->stretches; i++) {
		c->stretch[i].begin_ns = pp_wrap_plus(c->stretch[i].begin_ns, shift);
		c->stretch[i].end_ns = pp_wrap_plus(c->stretch[i].end_ns, shift);
	}
	for (size_t i = 0; i < c->pairs; i++)
		c->pair[i].time_ns = pp_wrap_plus(c->pair[i].time_ns, shift);
	for (size_t i = 0; i < c->changes; i++) {
		c->change[i].from_ns = pp_wrap_plus(c->change[i].from_ns, shift);
		c->change[i].to_ns = pp_wrap_plus(c->change[i].to_ns, shift);
	}
}

static int add_clock(struct pp_dataset *d, const struct pp_host_clock *from, int64_t shift)
{
	struct pp_host_clock *c = &d->host_clock[d->host_clocks];

	if (pp_host_clock_copy(from, c))
		return -ENOMEM;
	shift_times(c, shift);
	d->host_clocks++;
	return 0;
}

/* Of the ranks that stand in it by this part. */
static int add_part(struct pp_merge *m, size_t p, uint32_t *number)
{
	const struct pp_dataset *from = m->part[p];

	for (size_t w = 0; w < from->workers; w++) {
		size_t to = m->worker_of[p][w];
		uint32_t at = from->worker[w].host_clock;

		if (to == SIZE_MAX || !at)
			continue;
		if (!number[at - 1]) {
			if (add_clock(m->d, &from->host_clock[at - 1], m->shift[p]))
				return -ENOMEM;
			number[at - 1] = (uint32_t)m->d->host_clocks;
		}
		m->d->worker[to].host_clock = number[at - 1];
	}
	return 0;
}

/* In the order of ranks, whatever that of the parts was. */
static int sort_clocks(struct pp_dataset *d)
{
	struct pp_host_clock *sorted = calloc(d->host_clocks + 1, sizeof(*sorted));
	uint32_t *number = calloc(d->host_clocks + 1, sizeof(*number)), next = 0;

	if (!sorted || !number) {
		free(sorted);
		free(number);
		return -ENOMEM;
	}
	for (size_t w = 0; w < d->workers; w++) {
		uint32_t *at = &d->worker[w].host_clock;

		if (!*at)
			continue;
		if (!number[*at - 1]) {
			sorted[next] = d->host_clock[*at - 1];
			number[*at - 1] = ++next;
		}
		*at = number[*at - 1];
	}
	free(number);
	free(d->host_clock);
	d->host_clock = sorted;
	return 0;
}

int pp_merge_clocks(struct pp_merge *m)
{
	size_t clocks = 0;
	int rc = 0;

	for (size_t p = 0; p < m->parts; p++)
		clocks += m->part[p]->host_clocks;
	m->d->host_clock = calloc(clocks + 1, sizeof(*m->d->host_clock));
	if (!m->d->host_clock)
		return -ENOMEM;
	for (size_t p = 0; p < m->parts && rc == 0; p++) {
		uint32_t *number = calloc(m->part[p]->host_clocks + 1, sizeof(*number));

		rc = number ? add_part(m, p, number) : -ENOMEM;
		free(number);
	}
	return rc == 0 ? sort_clocks(m->d) : rc;
}
