/* Exposed waiting and transfer of every cell, and who was waited for. Called by dataset.c, after collective.c. */
#include <errno.h>
#include <stdlib.h>

#include "aggregate/analyze/join.h"

/* One segment of a collective's call or of a Wait for one: until the arrival it needs it waits, then it transfers. */
static void charge(struct pp_join *j, size_t r, const struct pp_attr_segment *segment)
{
	const struct pp_call *call = j->call[r][segment->thread];
	struct pp_dataset *d = j->d;
	struct pp_cell *cell;
	int64_t wait = 0;

	if (!call || call[segment->span].need == PP_NEED_NONE)
		return;
	call += segment->span;
	if (call->until > segment->begin)
		wait = (call->until < segment->end ? call->until : segment->end) - segment->begin;
	cell = &d->cell[segment->step * d->workers + j->worker_of[r]];
	cell->wait_ns += wait;
	cell->transfer_ns += segment->end - segment->begin - wait;
	if (call->blame >= 0)
		d->cell[segment->step * d->workers + (size_t)call->blame].late_ns += wait;
}

static int compare_late(const void *a, const void *b)
{
	const struct pp_late *x = a, *y = b;

	if (x->wait_ns != y->wait_ns)
		return x->wait_ns < y->wait_ns ? 1 : -1;
	return (x->rank > y->rank) - (x->rank < y->rank);
}

int pp_dataset_late(struct pp_dataset *d)
{
	d->late = calloc(d->workers + 1, sizeof(*d->late));
	if (!d->late)
		return -ENOMEM;
	for (size_t w = 0; w < d->workers; w++)
		d->late[w].rank = d->worker[w].rank;
	for (size_t s = 0; s < d->steps; s++) {
		const struct pp_cell *row = &d->cell[s * d->workers];
		size_t most = 0;

		for (size_t w = 0; w < d->workers; w++) {
			d->late[w].wait_ns += row[w].late_ns;
			if (row[w].late_ns > row[most].late_ns)
				most = w;
		}
		if (d->workers && row[most].late_ns > 0)
			d->late[most].steps++;
	}
	qsort(d->late, d->workers, sizeof(*d->late), compare_late);
	return 0;
}

int pp_join_late(struct pp_join *j)
{
	struct pp_dataset *d = j->d;

	for (size_t r = 0; r < j->in->capture->ranks; r++) {
		const struct pp_attr *attr = &j->in->attr[r];

		for (size_t i = 0; i < attr->segments; i++) {
			const struct pp_attr_segment *segment = &attr->segment[i];

			if (segment->step < d->steps && (segment->category == PP_CATEGORY_HOST_COMMUNICATION ||
			                                 segment->category == PP_CATEGORY_DEVICE_COLLECTIVE))
				charge(j, r, segment);
		}
	}
	return pp_dataset_late(d);
}
