/* Lists the exposed communication of every step: that of operations' calls, until finish.c says for whom they waited, and the
 * budget of the rest. Called by build.c, after collective.c. */
#include <errno.h>
#include <stdlib.h>

#include "aggregate/analyze/blocking.h"
#include "aggregate/analyze/budget.h"
#include "aggregate/analyze/build.h"
#include "aggregate/analyze/join.h"
#include "aggregate/dataset/table/functions.h"
#include "core/base/wrap.h"
#include "core/call/mpi_call.h"
#include "core/capture/capture.h"
#include "core/capture/thread.h"

struct exposing {
	struct pp_join *j;
	uint32_t *end; /* [waits + 1] of each call that waits, in pp_dataset.exposed so far: there those of the next call begin */
	struct pp_budget budget;
	struct pp_blocking blocking; /* of the rank at hand */
};

/* Is it a message's call, or a Wait or Test that may be for one? */
static int is_point_to_point(const struct pp_span *span)
{
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

/* Time in calls of files is Input or Output: only what is exposed counts. */
static struct pp_budget_call call_of_member(const struct pp_member *m)
{
	int is_file = pp_mpi_class_is_file(pp_mpi_call_info(m->operation)->class);

	return (struct pp_budget_call){m->key.communicator, m->arrival, is_file ? m->arrival : m->exit, m->operation};
}

/* A call that waits in no operation, as the budget has it; of a device's kernel the first operation that it ran. */
static struct pp_budget_call call_of(const struct pp_join *j, size_t r, const struct pp_span *span)
{
	const struct pp_operation_run *run =
	        span->kind == PP_SPAN_DEVICE ? pp_operation_runs_of_kernel(&j->run[r], span->device.correlation) : NULL;
	struct pp_budget_call c = {.operation = PP_BUDGET_OTHER};

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

/* Charges a segment of a call that waits in no operation: one that starts an operation waits for no rank, it is transfer. */
static int charge(struct exposing *e, size_t r, const struct pp_attr_segment *segment, const struct pp_call *call,
                  enum pp_budget_blocks blocks)
{
	const struct pp_join *j = e->j;
	const struct pp_span *span = &j->in->capture->rank[r].thread[segment->thread].span[segment->span];
	const int64_t ns = segment->end - segment->begin;
	struct pp_row_cell *cell = &j->d->cell[segment->step * j->d->workers + r];
	const struct pp_budget_segment part = {segment->step, segment->begin, segment->end, call ? 0 : PP_BUDGET_UNSPLIT, blocks};
	const struct pp_budget_call of = call ? call_of_member(&j->member[call->starts - 1]) : call_of(j, r, span);

	if (call)
		cell->transfer_ns = pp_wrap_plus(cell->transfer_ns, ns);
	else if (is_point_to_point(span))
		cell->point_to_point_ns = pp_wrap_plus(cell->point_to_point_ns, ns);
	return pp_budget_charge(&e->budget, &of, &part);
}

/* How many parts of at most 30 bits the segment has. */
static uint32_t parts_of(const struct pp_attr_segment *segment)
{
	return (uint32_t)((segment->end - segment->begin + PP_EXPOSED_LENGTH_MOST - 1) / PP_EXPOSED_LENGTH_MOST);
}

static void expose(struct exposing *e, const struct pp_attr_segment *segment, uint32_t waits, enum pp_budget_blocks blocks)
{
	for (int64_t begin = segment->begin; begin < segment->end; begin += PP_EXPOSED_LENGTH_MOST) {
		const int64_t left = segment->end - begin, most = PP_EXPOSED_LENGTH_MOST;

		e->j->d->exposed[e->end[waits]++] =
		        (struct pp_exposed){.begin_ns = begin,
		                            .length_ns = (uint32_t)(left < most ? left : most) & PP_EXPOSED_LENGTH_MOST,
		                            .step = segment->step & INT32_MAX,
		                            .more = 1,
		                            .blocks = blocks & 3};
	}
}

static int is_communication(const struct pp_join *j, const struct pp_attr_segment *segment)
{
	return segment->step < j->d->steps &&
	       (segment->category == PP_CATEGORY_HOST_COMMUNICATION || segment->category == PP_CATEGORY_DEVICE_COLLECTIVE);
}

/* Makes room for the segments of each call that waits: behind those of the call before. */
static int make_room(struct exposing *e)
{
	struct pp_join *j = e->j;
	size_t all = 0;

	e->end = calloc((size_t)j->waits + 2, sizeof(*e->end));
	if (!e->end)
		return -ENOMEM;
	for (size_t r = 0; r < j->in->capture->ranks; r++)
		for (size_t i = 0; i < j->in->attr[r].segments; i++) {
			const struct pp_attr_segment *segment = &j->in->attr[r].segment[i];
			const struct pp_call *call =
			        is_communication(j, segment) ? pp_join_call(j, r, segment->thread, segment->span) : NULL;

			if (!call || !call->waits)
				continue;
			e->end[call->waits + 1] += parts_of(segment);
			all += parts_of(segment);
		}
	if (all >= PP_EXPOSED_MOST)
		return -ENOMEM;
	for (size_t i = 1; i < (size_t)j->waits + 2; i++)
		e->end[i] += e->end[i - 1];
	j->d->exposed = calloc(all + 1, sizeof(*j->d->exposed));
	j->d->exposeds = all;
	return j->d->exposed ? 0 : -ENOMEM;
}

static int expose_rank(struct exposing *e, size_t r)
{
	const struct pp_join *j = e->j;
	const struct pp_attr *attr = &j->in->attr[r];
	int rc = pp_blocking_init(&e->blocking, &j->in->capture->rank[r], j->d->names);

	for (size_t i = 0; i < attr->segments && rc == 0; i++) {
		const struct pp_attr_segment *segment = &attr->segment[i];
		const struct pp_call *call = pp_join_call(j, r, segment->thread, segment->span);
		enum pp_budget_blocks blocks = PP_BUDGET_BESIDE;

		if (!is_communication(j, segment))
			continue;
		e->blocking.step_thread = j->in->steps->cell[segment->step * j->in->capture->ranks + r].thread;
		rc = pp_blocking_of(&e->blocking, segment, &blocks);
		if (rc == 0 && call && call->waits)
			expose(e, segment, call->waits, blocks);
		else if (rc == 0)
			rc = charge(e, r, segment, call, blocks);
	}
	pp_blocking_release(&e->blocking);
	return rc;
}

/* Links each row to the segments of the call that waits for it. */
static int link_rows(const struct exposing *e)
{
	struct pp_dataset *d = e->j->d;
	uint32_t *rows = calloc((size_t)e->j->waits + 1, sizeof(*rows));

	if (!rows)
		return -ENOMEM;
	for (size_t i = 0; i < d->arrivals; i++)
		rows[d->arrival[i].exposed]++;
	for (size_t i = 1; i <= e->j->waits; i++)
		if (e->end[i] > e->end[i - 1])
			d->exposed[e->end[i] - 1].more = 0;
	for (size_t i = 0; i < d->arrivals; i++) {
		const uint32_t waits = d->arrival[i].exposed;
		const int has = waits && e->end[waits] > e->end[waits - 1];

		d->arrival[i].exposed = has ? (e->end[waits - 1] + 1) & PP_EXPOSED_MOST : 0;
		d->arrival[i].shared = has && rows[waits] > 1;
	}
	free(rows);
	return 0;
}

int pp_join_exposed(struct pp_join *j)
{
	struct exposing e = {.j = j};
	int rc = pp_budget_init(&e.budget, j->d, 1);

	for (size_t i = 0; i < j->members && rc == 0; i++) {
		struct pp_budget_call c = call_of_member(&j->member[i]);

		rc = pp_budget_count(&e.budget, &c, j->member[i].worker);
	}
	if (rc == 0)
		rc = make_room(&e);
	for (size_t r = 0; r < j->in->capture->ranks && rc == 0; r++)
		rc = expose_rank(&e, r);
	if (rc == 0)
		rc = link_rows(&e);
	if (rc == 0)
		rc = pp_budget_finish(&e.budget);
	pp_budget_release(&e.budget);
	free(e.end);
	return rc;
}
