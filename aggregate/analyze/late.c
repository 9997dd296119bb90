/* Computes exposed waiting and transfer of every cell, for which rank others waited, and the budget of communication. Called by
 * build.c, after collective.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/analyze/blocking.h"
#include "aggregate/analyze/budget.h"
#include "aggregate/analyze/build.h"
#include "aggregate/analyze/join.h"
#include "aggregate/analyze/straggler.h"
#include "aggregate/dataset/table/functions.h"
#include "core/call/mpi_call.h"
#include "core/capture/capture.h"
#include "core/capture/thread.h"

/* In a part: a segment is cut into lengths of 31 bits; `step` is the number of the call until all parts are there. */
struct open_segment {
	uint32_t open, step;
	int64_t begin;
	uint32_t length;
	int blocks;
};

enum { LENGTH_MOST = INT32_MAX };

struct open_segments {
	struct open_segment *at;
	size_t n, room;
};

struct late {
	struct pp_join *j;
	struct open_segments open;
	struct pp_budget budget;
	struct pp_blocking blocking; /* of the rank at hand */
};

static int expose(struct open_segments *list, uint32_t open, const struct pp_attr_segment *segment, int blocks)
{
	for (int64_t begin = segment->begin, left = segment->end - begin; left > 0;) {
		uint32_t length = left < LENGTH_MOST ? (uint32_t)left : LENGTH_MOST;

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
		list->at[list->n++] = (struct open_segment){open, segment->step, begin, length, blocks};
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

/* Time in calls of files is Input or Output: only what is exposed counts. */
static struct pp_budget_call call_of_member(const struct pp_member *m)
{
	int is_file = pp_mpi_class_is_file(pp_mpi_call_info(m->operation)->class);

	return (struct pp_budget_call){m->key.communicator, m->arrival, is_file ? m->arrival : m->exit, m->operation};
}

/* The call that a segment is of, as the budget has it; of a device's kernel the first operation that it ran. */
static struct pp_budget_call call_of(const struct pp_join *j, size_t r, const struct pp_attr_segment *segment)
{
	const struct pp_span *span = &j->in->capture->rank[r].thread[segment->thread].span[segment->span];
	const struct pp_call *call = pp_join_call(j, r, segment->thread, segment->span);
	const struct pp_operation_run *run =
	        span->kind == PP_SPAN_DEVICE ? pp_operation_runs_of_kernel(&j->run[r], span->device.correlation) : NULL;
	struct pp_budget_call c = {.operation = PP_BUDGET_OTHER};

	if (call && call->need != PP_NEED_NONE)
		return call_of_member(&j->member[call->waited.row]);
	if (run)
		span = run->call;
	if (span->kind != PP_SPAN_MPI || !pp_mpi_call_is_known(span->mpi.call))
		return c;
	c.operation = span->mpi.call;
	c.communicator = span->mpi.comm;
	if (run && c.communicator && pp_mpi_class_joins(pp_mpi_call_info(c.operation)->class)) {
		c.begin = span->begin;
		c.end = run->end;
	}
	return c;
}

/* Charges one segment of a collective's call or of a Wait for one: waiting until the arrival it needs, then transfer. */
static int charge(struct late *l, size_t r, const struct pp_attr_segment *segment)
{
	struct pp_join *j = l->j;
	const struct pp_call *call = pp_join_call(j, r, segment->thread, segment->span);
	struct pp_budget_call of;
	struct pp_budget_segment part = {
	        .step = segment->step, .begin = segment->begin, .end = segment->end, .wait_ns = PP_BUDGET_UNSPLIT};

	if (pp_blocking_of(&l->blocking, segment, &part.blocks))
		return -ENOMEM;
	if (is_point_to_point(j, r, segment) && (!call || (!call->open && call->need != PP_NEED_UNTIL)))
		cell_of(j, r, segment)->point_to_point_ns += segment->end - segment->begin;
	if (call && call->open)
		return expose(&l->open, call->open, segment, part.blocks == PP_BUDGET_BLOCKS);
	of = call_of(j, r, segment);
	if (call && call->need == PP_NEED_UNTIL)
		part.wait_ns = pp_waiting_charge(j->d, &call->waited, segment->step, segment->begin, segment->end);
	return pp_budget_charge(&l->budget, &of, &part);
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

		d->exposed[next[one->open]++] = (struct pp_exposed){.begin_ns = one->begin,
		                                                    .length_ns = one->length & LENGTH_MOST,
		                                                    .step = one->step,
		                                                    .more = 1,
		                                                    .blocks = one->blocks & 1};
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

static int charge_rank(struct late *l, size_t r)
{
	const struct pp_join *j = l->j;
	const struct pp_attr *attr = &j->in->attr[r];
	int rc = pp_blocking_init(&l->blocking, &j->in->capture->rank[r], j->d->names);

	for (size_t i = 0; i < attr->segments && rc == 0; i++) {
		const struct pp_attr_segment *segment = &attr->segment[i];

		if (segment->step >= j->d->steps ||
		    (segment->category != PP_CATEGORY_HOST_COMMUNICATION && segment->category != PP_CATEGORY_DEVICE_COLLECTIVE))
			continue;
		l->blocking.step_thread = j->in->steps->cell[segment->step * j->in->capture->ranks + r].thread;
		rc = charge(l, r, segment);
	}
	pp_blocking_release(&l->blocking);
	return rc;
}

int pp_join_late(struct pp_join *j)
{
	struct pp_dataset *d = j->d;
	struct late l = {.j = j};
	int rc = pp_budget_init(&l.budget, d, j->in->partial);

	for (size_t i = 0; i < j->members && rc == 0; i++) {
		struct pp_budget_call c = call_of_member(&j->member[i]);

		rc = pp_budget_count(&l.budget, &c, j->member[i].worker);
	}
	for (size_t r = 0; r < j->in->capture->ranks && rc == 0; r++)
		rc = charge_rank(&l, r);
	if (rc == 0 && j->in->partial)
		rc = list_exposed(j, &l.open);
	if (rc == 0)
		rc = pp_budget_finish(&l.budget);
	pp_budget_release(&l.budget);
	free(l.open.at);
	if (rc == 0)
		rc = pp_dataset_late(d);
	return rc || j->in->partial ? rc : pp_dataset_straggler(d);
}
