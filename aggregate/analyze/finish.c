/* Completes a dataset that has all ranks, merged or of one keeper; see finish.h. The rule of waiting is waiting.c's. Called by
 * build.c, and by rank 0's keeper. */
#include "aggregate/analyze/finish.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "aggregate/analyze/bounds.h"
#include "aggregate/analyze/budget.h"
#include "aggregate/analyze/join.h"
#include "aggregate/analyze/straggler.h"
#include "aggregate/analyze/waiting.h"
#include "aggregate/analyze/window.h"
#include "aggregate/dataset/merge.h"
#include "aggregate/dataset/status.h"
#include "core/base/compare.h"
#include "core/base/partition.h"
#include "core/base/wrap.h"
#include "core/call/mpi_call.h"

#define STEP_NONE ((uint32_t)INT32_MAX) /* marks a segment outside the job's steps */

/* Adds rows for ranks that delivered nothing. */
static int add_missing(struct pp_dataset *d, struct pp_err *err)
{
	size_t asked = d->ranks_asked > 0 ? (size_t)d->ranks_asked : 0;
	struct pp_dataset missing = {.names = d->names, .epoch_realtime_ns = d->epoch_realtime_ns};
	struct pp_dataset *const part[] = {d, &missing};
	struct pp_dataset whole;
	int rc = 0;

	missing.steps_asked_first = d->steps_asked_first;
	missing.worker = calloc(asked + 1, sizeof(*missing.worker));
	if (!missing.worker)
		return pp_err_set(err, -ENOMEM, "cannot finish the dataset: no memory");
	for (int32_t rank = 0; (size_t)rank < asked; rank++) {
		if (pp_dataset_worker(d, rank) == SIZE_MAX)
			pp_worker_begin(&missing.worker[missing.workers++], rank, PP_STATUS_NOTHING_CAME);
	}
	if (missing.workers && !(rc = pp_dataset_merge_spend(part, 2, &whole, err))) {
		pp_dataset_release(d);
		*d = whole;
	}
	pp_dataset_release(&missing);
	return rc;
}

/* Adds traffic to ranks that recorded nothing themselves. */
static int take_unseen(struct pp_dataset *d)
{
	struct pp_table table[PP_TABLES];
	size_t kept = 0;
	int rc;

	for (size_t i = 0; i < d->channels; i++) {
		struct pp_row_channel *c = &d->channel[i];
		size_t w = c->unseen ? pp_dataset_worker(d, c->destination) : SIZE_MAX;

		c->unseen = 0;
		if (w == SIZE_MAX || !d->worker[w].records)
			d->channel[kept++] = *c;
	}
	d->channels = kept;
	pp_dataset_tables(d, table);
	rc = pp_table_seal(&table[PP_TABLE_channel], NULL);
	pp_dataset_take_tables(d, table);
	return rc;
}

/* Drops steps that the ranks of one host completed and those of another did not, unless steps were requested by number;
 * core/step does the same for ranks of one keeper. */
static int is_common(const struct pp_dataset *d, const uint8_t *has_steps, size_t step)
{
	for (size_t w = 0; w < d->workers; w++)
		if (has_steps[w] && !d->cell[step * d->workers + w].present)
			return 0;
	return 1;
}

static void drop_steps(struct pp_dataset *d, const uint32_t *to)
{
	size_t processes = 0;

	for (size_t i = 0, s = 0; i < d->processes; i++) {
		while (s < d->steps && d->step[s].number < d->process[i].step)
			s++;
		if (s < d->steps && to[s] != STEP_NONE)
			d->process[processes++] = d->process[i];
	}
	d->processes = processes;
	d->window_begin_ns = INT64_MAX;
	d->window_end_ns = INT64_MIN;
	for (size_t s = 0; s < d->steps; s++) {
		for (size_t w = 0; w < d->workers && to[s] != STEP_NONE; w++) {
			size_t from = s * d->workers + w, at = to[s] * d->workers + w;
			const struct pp_row_cell *cell = &d->cell[at];

			d->cell[at] = d->cell[from];
			if (cell->present && cell->begin_ns < d->window_begin_ns)
				d->window_begin_ns = cell->begin_ns;
			if (cell->present && cell->end_ns > d->window_end_ns)
				d->window_end_ns = cell->end_ns;
		}
		if (to[s] != STEP_NONE)
			d->step[to[s]] = d->step[s];
	}
	for (size_t i = 0; i < d->exposeds; i++)
		d->exposed[i].step = to[d->exposed[i].step] & STEP_NONE;
}

static int keep_common_steps(struct pp_dataset *d)
{
	uint32_t *to, kept = 0;
	uint8_t *has_steps;

	if (d->steps_asked_last > d->steps_asked_first || !d->steps)
		return 0;
	to = calloc(d->steps + 1, sizeof(*to));
	has_steps = calloc(d->workers + 1, 1);
	if (!to || !has_steps) {
		free(to);
		free(has_steps);
		return -ENOMEM;
	}
	for (size_t i = 0; i < d->steps * d->workers; i++)
		has_steps[i % d->workers] |= d->cell[i].present != 0;
	for (size_t s = 0; s < d->steps; s++)
		to[s] = is_common(d, has_steps, s) ? kept++ : STEP_NONE;
	if (kept && kept < d->steps) { /* steps that no two hosts share are still better than none */
		drop_steps(d, to);
		d->steps = kept;
	}
	free(to);
	free(has_steps);
	return 0;
}

/* A Wait and one of the operations that it waits for. */
struct shared {
	uint32_t exposed;
	struct pp_waited waited;
};

struct finalise {
	struct pp_dataset *d;
	struct pp_waiting waiting;
	struct shared *shared;
	struct pp_budget budget;
	size_t n;
};

/* The operation of a row, while operations are in the order of rows. */
static const struct pp_row_collective *operation_of(const struct pp_dataset *d, size_t row)
{
	size_t low = PP_PARTITION(d->collectives, at, d->collective[at].row_first + d->collective[at].row_count <= row);

	return &d->collective[low];
}

/* Charges an exposed call to an operation that it waits for. */
static int charge_call(struct finalise *s, const struct shared *call, const struct pp_row_collective *c)
{
	struct pp_dataset *d = s->d;
	const struct pp_row_arrival *row = &d->arrival[call->waited.row];
	int is_file = pp_mpi_class_is_file(pp_mpi_call_info(c->operation)->class);
	struct pp_budget_call of = {c->communicator, row->arrival_ns, is_file ? row->arrival_ns : row->exit_ns, c->operation};
	size_t exposed = call->exposed;
	int rc = 0;

	for (int more = 1; more && exposed < d->exposeds && !rc; exposed++) {
		const struct pp_exposed *e = &d->exposed[exposed];
		struct pp_budget_segment part = {.step = e->step,
		                                 .begin = e->begin_ns,
		                                 .end = pp_wrap_plus(e->begin_ns, e->length_ns),
		                                 .wait_ns = PP_BUDGET_UNSPLIT,
		                                 .blocks = (enum pp_budget_blocks)e->blocks};
		struct pp_row_cell *cell = e->step < d->steps ? &d->cell[e->step * d->workers + call->waited.worker] : NULL;

		more = e->more;
		if (!cell)
			continue;
		if (!call->waited.is_unsplit)
			part.wait_ns = pp_waiting_charge(d, &call->waited, e->step, part.begin, part.end);
		else if (c->message)
			cell->point_to_point_ns = pp_wrap_plus(cell->point_to_point_ns, e->length_ns);
		rc = pp_budget_charge(&s->budget, &of, &part);
	}
	return rc;
}

static int finalise_rows(struct finalise *s, const struct pp_row_collective *c)
{
	int rc = 0;

	for (uint32_t i = 0; i < c->row_count && !rc; i++) {
		struct pp_row_arrival *row = &s->d->arrival[c->row_first + i];
		struct shared call = {row->exposed - 1, s->waiting.row[i]};

		if (!row->exposed)
			continue;
		/* It waited for nobody. So does a Wait that began before the operation, on another thread. */
		if (call.waited.waits_for < 0)
			call.waited.until = INT64_MIN;
		if (row->shared)
			s->shared[s->n++] = call;
		else
			rc = charge_call(s, &call, c);
		row->exposed = 0;
		row->shared = 0;
	}
	return rc;
}

PP_COMPARE_BY_2(compare_shared, struct shared, exposed, waited.is_unsplit)

/* A Wait for several operations waits for the last of them that is split. */
static int finalise_shared(struct finalise *s)
{
	int rc = 0;

	qsort(s->shared, s->n, sizeof(*s->shared), compare_shared);
	for (size_t i = 0, n; i < s->n && !rc; i += n) {
		struct shared last = s->shared[i];

		for (n = 1; i + n < s->n && s->shared[i + n].exposed == s->shared[i].exposed; n++) {
			const struct pp_waited *one = &s->shared[i + n].waited;

			if (!one->is_unsplit &&
			    pp_waiting_is_later(one->until, one->waits_for, last.waited.until, last.waited.waits_for))
				last.waited = *one;
		}
		rc = charge_call(s, &last, operation_of(s->d, last.waited.row));
	}
	return rc;
}

/* Readers expect collectives in the order of their begins. */
PP_COMPARE_BY_2(compare_first, struct pp_row_collective, first_ns, row_first)

static int finalise_waiting(struct pp_dataset *d)
{
	struct finalise s = {.d = d, .waiting = {.d = d}};
	size_t shared = 0;
	int rc = 0;

	for (size_t i = 0; i < d->arrivals; i++)
		shared += d->arrival[i].shared;
	s.shared = calloc(shared + 1, sizeof(*s.shared));
	rc = s.shared ? pp_budget_init(&s.budget, d, 0) : -ENOMEM;
	for (size_t i = 0; i < d->collectives && rc == 0; i++) {
		rc = pp_waiting_solve(&s.waiting, &d->collective[i]);
		if (rc == 0)
			rc = finalise_rows(&s, &d->collective[i]);
	}
	if (rc == 0)
		rc = finalise_shared(&s);
	if (rc == 0)
		rc = pp_budget_finish(&s.budget);
	pp_waiting_release(&s.waiting);
	pp_budget_release(&s.budget);
	free(s.shared);
	if (rc < 0)
		return rc;
	free(d->exposed);
	d->exposed = NULL;
	d->exposeds = 0;
	if (d->collectives)
		qsort(d->collective, d->collectives, sizeof(*d->collective), compare_first);
	rc = pp_dataset_late(d);
	return rc < 0 ? rc : pp_dataset_straggler(d);
}

int pp_dataset_finish(struct pp_dataset *d, struct pp_err *err)
{
	int rc = add_missing(d, err);

	if (rc < 0)
		return rc;
	rc = take_unseen(d);
	if (rc == 0)
		rc = pp_dataset_window_rest(d);
	if (rc == 0)
		rc = keep_common_steps(d);
	if (rc == 0)
		rc = finalise_waiting(d);
	if (rc == 0)
		rc = pp_dataset_pair_bound(d);
	if (rc < 0)
		return pp_err_set(err, rc, "cannot finish the dataset: no memory");
	pp_dataset_quality(d);
	return 0;
}
