/* Details of the straggler: for which ranks it waited itself, and how often it lost its core. Called by finish.c and the
 * tools. */
#include "aggregate/analyze/straggler.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/compare.h"
#include "core/base/grow.h"
#include "core/base/known.h"
#include "core/base/partition.h"
#include "core/call/mpi_call.h"

struct interval {
	int64_t begin, end;
	int32_t waits_for; /* of a wait: the worker that it waits for */
};

struct intervals {
	struct interval *at;
	size_t n, room;
};

static int add(struct intervals *list, int64_t begin, int64_t end, int32_t waits_for)
{
	if (end <= begin)
		return 0;
	if (PP_GROW(list->at, list->n, list->room))
		return -ENOMEM;
	list->at[list->n++] = (struct interval){begin, end, waits_for};
	return 0;
}

/* own: when the rank waits, and for whom. held: when others wait for it, from the first to the last of each collective. */
static int find_waits(const struct pp_dataset *d, size_t who, struct intervals *own, struct intervals *held)
{
	const int32_t rank = d->worker[who].rank;
	int rc = 0;

	for (size_t i = 0; i < d->collectives && rc == 0; i++) {
		const struct pp_row_collective *c = &d->collective[i];
		int64_t first = INT64_MAX, last = INT64_MIN, begin, until;

		if (c->step == INT64_MIN || pp_mpi_class_is_file(pp_mpi_call_info(c->operation)->class))
			continue;
		for (uint64_t k = c->row_first; k < c->row_first + c->row_count && rc == 0; k++) {
			const struct pp_row_arrival *row = &d->arrival[k];
			const size_t late =
			        row->worker == rank || row->late_rank == rank ? pp_dataset_worker(d, row->late_rank) : SIZE_MAX;

			if (late == SIZE_MAX || !pp_arrival_waits(row, &begin, &until))
				continue;
			if (late != who) {
				rc = add(own, begin, until, (int32_t)late);
				continue;
			}
			first = begin < first ? begin : first;
			last = until > last ? until : last;
		}
		if (rc == 0)
			rc = add(held, first, last, -1);
	}
	return rc;
}

PP_COMPARE_BY(by_begin, struct interval, begin)

/* Sorts the intervals and joins overlapping ones. */
static void unite(struct intervals *list)
{
	size_t n = 0;

	if (list->n)
		qsort(list->at, list->n, sizeof(*list->at), by_begin);
	for (size_t i = 0; i < list->n; i++) {
		struct interval *last = n ? &list->at[n - 1] : NULL;

		if (!last || list->at[i].begin > last->end)
			list->at[n++] = list->at[i];
		else if (list->at[i].end > last->end)
			last->end = list->at[i].end;
	}
	list->n = n;
}

/* Length of [begin, end] that the joined list covers. */
static int64_t covered(const struct intervals *list, int64_t begin, int64_t end)
{
	size_t low = PP_PARTITION(list->n, at, list->at[at].end <= begin);
	int64_t sum = 0;

	for (; low < list->n && list->at[low].begin < end; low++)
		sum += (list->at[low].end < end ? list->at[low].end : end) -
		       (list->at[low].begin > begin ? list->at[low].begin : begin);
	return sum;
}

/* waited_ns: [workers] how long it waited for each of them while others waited for it already: only that can have made it late. */
static int sum_waits(const struct pp_dataset *d, size_t who, int64_t *waited_ns)
{
	struct intervals own = {.at = NULL}, held = {.at = NULL};
	int rc = find_waits(d, who, &own, &held);

	unite(&held);
	for (size_t i = 0; rc == 0 && i < own.n; i++)
		waited_ns[own.at[i].waits_for] += covered(&held, own.at[i].begin, own.at[i].end);
	free(own.at);
	free(held.at);
	return rc;
}

/* Run queue time inside the steps, from the samples between the first and the last of them; -1: no samples, or the kernel does
 * not count it. */
static int64_t run_queue_of(const struct pp_dataset *d, size_t who)
{
	int64_t begin = INT64_MAX, end = INT64_MIN, in_steps = 0;
	const struct pp_row_process_sample *first = NULL, *last = NULL;

	for (size_t i = 0; i < d->steps; i++) {
		const struct pp_row_cell *cell = &d->cell[i * d->workers + who];

		if (!cell->present)
			continue;
		begin = cell->begin_ns < begin ? cell->begin_ns : begin;
		end = cell->end_ns > end ? cell->end_ns : end;
		in_steps += cell->step_ns;
	}
	for (size_t i = 0; i < d->process_samples; i++) {
		const struct pp_row_process_sample *s = &d->process_sample[i];

		if (s->sample_worker != d->worker[who].rank || s->sample_time_ns < begin || s->sample_time_ns > end)
			continue;
		first = first ? first : s;
		last = s;
	}
	if (!last || last == first || first->sample_run_queue_ns <= 0 || last->sample_run_queue_ns < first->sample_run_queue_ns)
		return PP_UNKNOWN;
	return (int64_t)((double)(last->sample_run_queue_ns - first->sample_run_queue_ns) * (double)in_steps /
	                 ((double)end - (double)begin));
}

int pp_dataset_straggler(struct pp_dataset *d)
{
	struct pp_straggler *s = &d->straggler;
	int64_t exposed = 0, *waited_ns;
	size_t who, most = 0;

	*s = (struct pp_straggler){.waited_for = -1, .run_queue_ns = PP_UNKNOWN};
	if (!d->workers || !d->late || d->late[0].wait_ns <= 0)
		return 0;
	who = pp_dataset_worker(d, d->late[0].rank);
	waited_ns = calloc(d->workers, sizeof(*waited_ns));
	if (!waited_ns || sum_waits(d, who, waited_ns) < 0) {
		free(waited_ns);
		return -ENOMEM;
	}
	for (size_t i = 0; i < d->workers; i++)
		if (waited_ns[i] > waited_ns[most])
			most = i;
	for (size_t i = 0; i < d->steps; i++)
		exposed += d->cell[i * d->workers + who].wait_ns;
	for (size_t i = 0; i < d->processes; i++)
		if (d->process[i].worker == d->worker[who].rank) {
			s->involuntary += d->process[i].involuntary_switches;
			s->voluntary += d->process[i].voluntary_switches;
		}
	if (waited_ns[most] > 0 && exposed > 0) {
		s->waited_for = d->worker[most].rank;
		s->waited_ns = waited_ns[most] < exposed ? waited_ns[most] : exposed; /* the rest was hidden behind work */
	}
	s->run_queue_ns = run_queue_of(d, who);
	free(waited_ns);
	return 0;
}
