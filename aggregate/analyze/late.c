/* Computes exposed waiting and transfer of every cell, and for which rank others waited. Called by build.c, after collective.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/analyze/build.h"
#include "aggregate/analyze/join.h"
#include "aggregate/analyze/straggler.h"
#include "core/source/mpi_call.h"

/* In a part: a segment is cut into 32-bit lengths; `step` is the number of the call until all parts are there. */
struct open_segment {
	uint32_t open, step;
	int64_t begin;
	uint32_t length;
};

struct open_segments {
	struct open_segment *at;
	size_t n, room;
};

static int expose(struct open_segments *list, uint32_t open, const struct pp_attr_segment *segment)
{
	for (int64_t begin = segment->begin, left = segment->end - begin; left > 0;) {
		uint32_t length = left < UINT32_MAX ? (uint32_t)left : UINT32_MAX;

		if (list->n == list->room) {
			size_t room = list->room ? 2 * list->room : 256;
			struct open_segment *more = realloc(list->at, room * sizeof(*more));

			if (!more || list->n >= PP_EXPOSED_MOST) {
				free(more ? more : list->at);
				*list = (struct open_segments){.at = NULL};
				return -ENOMEM;
			}
			list->at = more;
			list->room = room;
		}
		list->at[list->n++] = (struct open_segment){open, segment->step, begin, length};
		begin += length;
		left -= length;
	}
	return 0;
}

/* Is it a message's call, or a Wait or Test that may be for one? */
static int is_point_to_point(const struct pp_join *j, size_t r, const struct pp_attr_segment *segment)
{
	const struct pp_span *span = &j->in->capture->rank[r].thread[segment->thread].span[segment->span];

	if (span->kind != PP_SPAN_MPI)
		return 0;
	switch (pp_mpi_call_info(span->mpi.call)->class) {
	case PP_MPI_SEND:
	case PP_MPI_RECV:
	case PP_MPI_SENDRECV:
	case PP_MPI_PROBE:
	case PP_MPI_WAIT:
	case PP_MPI_START:
		return 1;
	default:
		return 0;
	}
}

static struct pp_row_cell *cell_of(const struct pp_join *j, size_t r, const struct pp_attr_segment *segment)
{
	return &j->d->cell[segment->step * j->d->workers + j->worker_of[r]];
}

/* Charges one segment of a collective's call or of a Wait for one: waiting until the arrival it needs, then transfer. */
static int charge(struct pp_join *j, size_t r, const struct pp_attr_segment *segment, struct open_segments *list)
{
	const struct pp_call *call = j->call[r][segment->thread];

	if (is_point_to_point(j, r, segment) && (!call || (!call[segment->span].open && call[segment->span].need == PP_NEED_NONE)))
		cell_of(j, r, segment)->point_to_point_ns += segment->end - segment->begin;
	if (!call)
		return 0;
	call += segment->span;
	if (call->open)
		return expose(list, call->open, segment);
	if (call->need != PP_NEED_NONE)
		pp_waiting_charge(j->d, &call->waited, segment->step, segment->begin, segment->end);
	return 0;
}

/* Lists segments by call, links rows to the first of theirs, and notes calls that also wait for ranks of this host. */
static int list_exposed(struct pp_join *j, const struct open_segments *list)
{
	struct pp_dataset *d = j->d;
	uint32_t *next = calloc(j->opens + 2, sizeof(*next)), *first = calloc(j->opens + 2, sizeof(*first));

	d->exposed = calloc(list->n + 1, sizeof(*d->exposed));
	d->awaited = calloc(j->opens + 1, sizeof(*d->awaited));
	if (!next || !first || !d->exposed || !d->awaited) {
		free(next);
		free(first);
		return -ENOMEM;
	}
	d->exposeds = list->n;
	for (size_t i = 0; i < list->n; i++)
		next[list->at[i].open + 1]++;
	for (size_t i = 1; i < j->opens + 2; i++)
		next[i] += next[i - 1];
	memcpy(first, next, (j->opens + 2) * sizeof(*first));
	for (size_t i = 0; i < list->n; i++) {
		const struct open_segment *one = &list->at[i];

		d->exposed[next[one->open]++] =
		        (struct pp_exposed){.begin_ns = one->begin, .length_ns = one->length, .step = one->step, .more = 1};
	}
	for (size_t i = 1; i <= j->opens; i++) {
		const struct pp_call *call = j->open[i - 1];

		if (first[i] == first[i + 1])
			continue;
		d->exposed[first[i + 1] - 1].more = 0;
		if (call->need == PP_NEED_UNTIL && call->waited.waits_for >= 0)
			d->awaited[d->awaiteds++] = (struct pp_awaited){first[i], (uint32_t)call->waited.row,
			                                                d->worker[call->waited.waits_for].rank, call->waited.until};
	}
	for (size_t i = 0; i < d->arrivals; i++) {
		uint32_t open = d->arrival[i].exposed;

		d->arrival[i].exposed = open && first[open] < first[open + 1] ? first[open] + 1 : 0;
		d->arrival[i].shared = d->arrival[i].exposed && d->arrival[i].shared;
	}
	free(next);
	free(first);
	return 0;
}

int pp_join_late(struct pp_join *j)
{
	struct pp_dataset *d = j->d;
	struct open_segments list = {.at = NULL};
	int rc = 0;

	for (size_t r = 0; r < j->in->capture->ranks; r++) {
		const struct pp_attr *attr = &j->in->attr[r];

		for (size_t i = 0; i < attr->segments && rc == 0; i++) {
			const struct pp_attr_segment *segment = &attr->segment[i];

			if (segment->step < d->steps && (segment->category == PP_CATEGORY_HOST_COMMUNICATION ||
			                                 segment->category == PP_CATEGORY_DEVICE_COLLECTIVE))
				rc = charge(j, r, segment, &list);
		}
	}
	if (rc == 0 && j->in->partial)
		rc = list_exposed(j, &list);
	free(list.at);
	if (rc == 0)
		rc = pp_dataset_late(d);
	return rc || j->in->partial ? rc : pp_dataset_straggler(d);
}
