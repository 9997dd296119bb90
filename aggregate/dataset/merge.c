/* Merges ranks and steps of several hosts into one dataset; see merge.h. Called by rank 0's keeper. */
#include "aggregate/dataset/merge.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/dataset/describe_job.h"
#include "aggregate/dataset/merge_calls.h"
#include "aggregate/dataset/merge_tables.h"
#include "aggregate/dataset/order.h"
#include "aggregate/dataset/status.h"
#include "core/base/compare.h"
#include "core/base/huge.h"
#include "core/base/wrap.h"

/* Which part has the row: a delivered rank first, then one with a reason, then the earlier part. */
static int is_better(const struct pp_row_worker *a, const struct pp_row_worker *b)
{
	if (pp_worker_is_missing(a) != pp_worker_is_missing(b))
		return !pp_worker_is_missing(a);
	return pp_worker_is_missing(a) && strcmp(a->status, PP_STATUS_NOTHING_CAME) != 0 &&
	       !strcmp(b->status, PP_STATUS_NOTHING_CAME);
}

struct claim { /* a part's row of a rank */
	const struct pp_row_worker *worker;
	size_t part, index;
};

PP_COMPARE(compare_claim, struct claim,
           PP_UP(worker->rank) ?: PP_ORDER(is_better(y->worker, x->worker), is_better(x->worker, y->worker)) ?: PP_UP(part))

static int32_t most_domains(const struct pp_dataset *d)
{
	int32_t most = 0;

	for (size_t w = 0; w < d->workers; w++)
		if (d->worker[w].domain >= most)
			most = d->worker[w].domain + 1;
	return most;
}

/* Parts of one clock and one map share a domain, by their texts; others never do. */
static int set_domains(struct pp_merge *m)
{
	int32_t base = 0;

	for (size_t p = 0; p < m->parts; p++) {
		for (size_t w = 0; w < m->part[p]->workers; w++) {
			size_t to = m->worker_of[p][w];

			if (to != SIZE_MAX && m->d->worker[to].domain >= 0)
				m->d->worker[to].domain += base;
		}
		base += most_domains(m->part[p]);
	}
	return pp_dataset_clocks(m->d);
}

/* Clocks of the ranks that this part has, in their order. Their rows are merged with the tables. */
static uint32_t take_clock(struct pp_merge *m, size_t part, uint32_t number)
{
	uint32_t *to = number ? &m->host_of[part][number - 1] : NULL;

	if (to && !*to) {
		struct pp_row_host_clock *c = &m->d->host_clock[m->d->host_clocks++];

		*c = m->part[part]->host_clock[number - 1];
		c->host_offset_ns = pp_wrap_plus(c->host_offset_ns, m->shift[part]);
		*to = (uint32_t)m->d->host_clocks;
	}
	return to ? *to : 0;
}

static int merge_workers(struct pp_merge *m)
{
	struct pp_dataset *d = m->d;
	struct claim *claim;
	size_t n = 0, all = 0, clocks = 0;

	for (size_t p = 0; p < m->parts; p++) {
		all += m->part[p]->workers;
		clocks += m->part[p]->host_clocks;
	}
	claim = calloc(all + 1, sizeof(*claim));
	d->worker = pp_huge_calloc(all + 1, sizeof(*d->worker));
	d->host_clock = calloc(clocks + 1, sizeof(*d->host_clock));
	if (!claim || !d->worker || !d->host_clock) {
		free(claim);
		return -ENOMEM;
	}
	for (size_t p = 0; p < m->parts; p++)
		for (size_t w = 0; w < m->part[p]->workers; w++)
			claim[n++] = (struct claim){&m->part[p]->worker[w], p, w};
	qsort(claim, n, sizeof(*claim), compare_claim);
	for (size_t i = 0; i < n; i++) {
		const struct pp_row_worker *one = claim[i].worker;

		if (i && one->rank == claim[i - 1].worker->rank) {
			m->worker_of[claim[i].part][claim[i].index] = SIZE_MAX;
			m->whole[claim[i].part] = 0;
			if (!pp_worker_is_missing(one))
				pp_dataset_warn(d, "hosts '%s' and '%s' both sent rank %d: the second one is dropped",
				                d->worker[d->workers - 1].host, one->host, (int)one->rank);
			continue;
		}
		m->worker_of[claim[i].part][claim[i].index] = d->workers;
		d->ranks_delivered += !pp_worker_is_missing(one);
		d->worker[d->workers] = *one;
		d->worker[d->workers++].host_clock = take_clock(m, claim[i].part, one->host_clock);
	}
	free(claim);
	return set_domains(m);
}

/* The epoch of the lowest delivered rank is the job's. */
static void set_shifts(struct pp_merge *m)
{
	const struct pp_row_worker *lowest = NULL;
	struct pp_dataset *d = m->d;

	d->epoch_realtime_ns = m->part[0]->epoch_realtime_ns;
	for (size_t p = 0; p < m->parts; p++) {
		for (size_t w = 0; w < m->part[p]->workers; w++) {
			const struct pp_row_worker *one = &m->part[p]->worker[w];

			if (pp_worker_is_missing(one) || (lowest && one->rank >= lowest->rank))
				continue;
			lowest = one;
			d->epoch_realtime_ns = m->part[p]->epoch_realtime_ns;
		}
	}
	for (size_t p = 0; p < m->parts; p++)
		m->shift[p] = pp_wrap_minus(m->part[p]->epoch_realtime_ns, d->epoch_realtime_ns);
}

PP_COMPARE_BY(compare_number, struct pp_row_step, number)

static int merge_numbers(struct pp_merge *m)
{
	struct pp_dataset *d = m->d;
	size_t all = 0, kept = 0;

	for (size_t p = 0; p < m->parts; p++)
		all += m->part[p]->steps;
	d->step = calloc(all + 1, sizeof(*d->step));
	if (!d->step)
		return -ENOMEM;
	for (size_t p = 0; p < m->parts; p++)
		for (size_t s = 0; s < m->part[p]->steps; s++)
			d->step[d->steps++] = m->part[p]->step[s];
	qsort(d->step, d->steps, sizeof(*d->step), compare_number);
	for (size_t s = 0; s < d->steps; s++)
		if (kept && d->step[s].number == d->step[kept - 1].number)
			pp_row_fold(pp_table_desc(PP_TABLE_step), &d->step[kept - 1], &d->step[s]);
		else
			d->step[kept++] = d->step[s];
	d->steps = kept;
	return 0;
}

static void merge_step(struct pp_merge *m, size_t p, size_t s, size_t to)
{
	const struct pp_dataset *from = m->part[p];
	struct pp_dataset *d = m->d;

	for (size_t w = 0; w < from->workers; w++) {
		struct pp_row_cell *cell;

		if (m->worker_of[p][w] == SIZE_MAX)
			continue;
		cell = &d->cell[to * d->workers + m->worker_of[p][w]];
		*cell = from->cell[s * from->workers + w];
		if (!cell->present)
			continue;
		cell->begin_ns = pp_wrap_plus(cell->begin_ns, m->shift[p]);
		cell->end_ns = pp_wrap_plus(cell->end_ns, m->shift[p]);
		if (d->window_begin_ns == INT64_MAX || cell->begin_ns < d->window_begin_ns)
			d->window_begin_ns = cell->begin_ns;
		if (d->window_end_ns == INT64_MIN || cell->end_ns > d->window_end_ns)
			d->window_end_ns = cell->end_ns;
	}
}

static int merge_steps(struct pp_merge *m)
{
	struct pp_dataset *d = m->d;
	int rc = merge_numbers(m);

	if (rc < 0)
		return rc;
	d->cell = pp_huge_calloc(d->steps * d->workers + 1, sizeof(*d->cell));
	if (!d->cell)
		return -ENOMEM;
	d->window_begin_ns = INT64_MAX;
	d->window_end_ns = INT64_MIN;
	for (size_t p = 0; p < m->parts; p++) {
		for (size_t s = 0, to = 0; s < m->part[p]->steps; s++) {
			while (d->step[to].number < m->part[p]->step[s].number)
				to++;
			m->step_of[p][s] = (uint32_t)to;
			merge_step(m, p, s, to);
		}
	}
	if (d->window_end_ns == INT64_MIN)
		d->window_begin_ns = d->window_end_ns = 0;
	return 0;
}

static void merge_head(struct pp_merge *m)
{
	struct pp_dataset *d = m->d;

	d->names = m->part[0]->names;
	d->steps_asked_first = m->part[0]->steps_asked_first;
	d->steps_asked_last = m->part[0]->steps_asked_last;
	for (size_t p = 0; p < m->parts; p++) {
		const struct pp_dataset *from = m->part[p];

		if (from->step_rule[0] && d->step_rule[0] && strcmp(from->step_rule, d->step_rule) != 0)
			pp_dataset_warn(d,
			                "some hosts found steps by the rule '%s', others by '%s': steps of equal number may differ",
			                from->step_rule, d->step_rule);
		if (from->step_rule[0] && (!d->step_rule[0] || from->step_confidence < d->step_confidence))
			d->step_confidence = from->step_confidence;
		if (!d->step_rule[0])
			memcpy(d->step_rule, from->step_rule, sizeof(d->step_rule));
		pp_row_fold(pp_job_desc(0), d, from);
	}
}

static void spend_cells(const struct pp_merge *m)
{
	for (size_t p = 0; m->spent && p < m->parts; p++) {
		free(m->spent[p]->cell);
		m->spent[p]->cell = NULL;
	}
}

static int merge_all(struct pp_merge *m)
{
	int rc;

	m->shift = calloc(m->parts, sizeof(*m->shift));
	m->whole = calloc(m->parts, sizeof(*m->whole));
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers, one a part */
	m->worker_of = calloc(m->parts, sizeof(*m->worker_of));
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers, one a part */
	m->step_of = calloc(m->parts, sizeof(*m->step_of));
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers, one a part */
	m->host_of = calloc(m->parts, sizeof(*m->host_of));
	if (!m->shift || !m->whole || !m->worker_of || !m->step_of || !m->host_of)
		return -ENOMEM;
	for (size_t p = 0; p < m->parts; p++) {
		m->whole[p] = 1;
		m->worker_of[p] = calloc(m->part[p]->workers + 1, sizeof(**m->worker_of));
		m->step_of[p] = calloc(m->part[p]->steps + 1, sizeof(**m->step_of));
		m->host_of[p] = calloc(m->part[p]->host_clocks + 1, sizeof(**m->host_of));
		if (!m->worker_of[p] || !m->step_of[p] || !m->host_of[p])
			return -ENOMEM;
	}
	merge_head(m);
	set_shifts(m);
	rc = merge_workers(m);
	if (rc == 0)
		rc = merge_steps(m);
	spend_cells(m);
	if (rc == 0)
		rc = pp_merge_tables(m);
	if (rc == 0)
		rc = pp_merge_collectives(m);
	return rc;
}

static int merge(const struct pp_dataset *const *part, struct pp_dataset *const *spent, size_t parts,
                 struct pp_dataset *ret_dataset, struct pp_err *err)
{
	struct pp_dataset d = {.names = NULL};
	struct pp_merge m = {.part = part, .spent = spent, .parts = parts, .d = &d};
	int rc;

	if (!parts)
		return pp_err_set(err, -EINVAL, "no host has a share of the dataset");
	rc = merge_all(&m);
	for (size_t p = 0; m.worker_of && p < parts; p++)
		free(m.worker_of[p]);
	for (size_t p = 0; m.step_of && p < parts; p++)
		free(m.step_of[p]);
	for (size_t p = 0; m.host_of && p < parts; p++)
		free(m.host_of[p]);
	free(m.whole);
	free(m.host_of);
	free(m.worker_of);
	free(m.step_of);
	free(m.shift);
	if (rc < 0) {
		pp_dataset_release(&d);
		return pp_err_set(err, rc, "cannot merge the shares of %zu hosts: no memory", parts);
	}
	*ret_dataset = d;
	return 0;
}

int pp_dataset_merge(const struct pp_dataset *const *part, size_t parts, struct pp_dataset *ret_dataset, struct pp_err *err)
{
	return merge(part, NULL, parts, ret_dataset, err);
}

int pp_dataset_merge_spend(struct pp_dataset *const *part, size_t parts, struct pp_dataset *ret_dataset, struct pp_err *err)
{
	return merge((const struct pp_dataset *const *)part, part, parts, ret_dataset, err);
}
