/* What nothing recorded shows; see unseen.h. Called by tools.c: waiting once the graph has added what it infers, the rest last. */
#include "aggregate/analyze/unseen.h"

#include <string.h>

#include "aggregate/dataset/dataset.h"
#include "aggregate/graph/device_wait.h"
#include "aggregate/graph/graph.h"
#include "core/base/known.h"
#include "core/ring/intern.h"

static int64_t communication_of(const struct pp_row_cell *cell)
{
	return cell->exclusive_ns[PP_CATEGORY_HOST_COMMUNICATION] + cell->exclusive_ns[PP_CATEGORY_DEVICE_COLLECTIVE];
}

/* Where it is all hidden behind work, operations show it. */
int pp_dataset_sees_communication(const struct pp_dataset *d)
{
	for (size_t i = 0; i < d->steps * d->workers; i++)
		if (communication_of(&d->cell[i]) > 0)
			return 1;
	for (size_t i = 0; i < d->collectives; i++)
		if (d->collective[i].step != INT64_MIN)
			return 1;
	return 0;
}

/* Waiting of others for a rank is known where that of any of them is, and where there is some, also for a rank without this
 * step. */
static void mark_step(struct pp_row_cell *cell, size_t workers)
{
	size_t known = 0;

	for (size_t w = 0; w < workers; w++)
		known += pp_is_known(cell[w].wait_ns);
	for (size_t w = 0; w < workers; w++)
		if (!cell[w].late_ns && (!cell[w].present || (workers > 1 && known == (size_t)pp_is_known(cell[w].wait_ns))))
			cell[w].late_ns = PP_UNKNOWN;
}

/* Of several ranks waiting that was seen, or most of the communication, tells how they wait: transfer of a few calls says nothing
 * of the others. One that is recorded alone may have waited in all that is not split. */
static int is_split(const struct pp_dataset *d, const struct pp_row_cell *cell)
{
	if (d->workers > 1)
		return cell->wait_ns || cell->transfer_ns >= communication_of(cell) / 2;
	return cell->wait_ns + cell->transfer_ns >= communication_of(cell);
}

/* Files of others may be of a larger job than they say; podprof's have the number of its ranks. */
static int files_are_own(const struct pp_dataset *d)
{
	for (size_t i = 0; i < d->trace_files; i++)
		if (strcmp(pp_intern_text(d->names, d->trace_file[i].producer, NULL), "podprof") != 0)
			return 0;
	return 1;
}

void pp_dataset_mark_unseen(struct pp_dataset *d)
{
	const int is_whole_job = d->workers <= 1 && d->ranks_asked <= 1 && files_are_own(d);
	const int is_seen = d->workers <= 1 || pp_dataset_sees_communication(d);

	for (size_t i = 0; i < d->steps * d->workers; i++) {
		struct pp_row_cell *cell = &d->cell[i];

		if (cell->present && is_seen && (is_whole_job || is_split(d, cell) || communication_of(cell) <= 0))
			continue;
		cell->wait_ns = PP_UNKNOWN;
		if (d->workers <= 1 || !cell->transfer_ns) /* that of the calls that are split was seen */
			cell->transfer_ns = PP_UNKNOWN;
	}
	for (size_t s = 0; s < d->steps; s++)
		mark_step(&d->cell[s * d->workers], d->workers);
}

/* Of operations on devices. */
static void mark_operation(struct pp_row_collective *c)
{
	if (!c->device_ranks)
		c->device_ns = PP_UNKNOWN;
	if (!c->exposed_ranks)
		c->exposed_ns = PP_UNKNOWN;
}

static void mark_arrival(struct pp_row_arrival *a)
{
	if (a->device_how == PP_DEVICE_WAIT_UNKNOWN || a->device_how == PP_DEVICE_WAIT_DISAGREE)
		a->device_wait_ns = a->device_bound_ns = PP_UNKNOWN;
	if (!a->device_length_ns)
		a->device_length_ns = PP_UNKNOWN;
	if (!pp_graph_on_device(a))
		a->device_error_ns = PP_UNKNOWN;
	if (!a->device_input_ns)
		a->device_input_ns = PP_UNKNOWN;
	if (!a->exposed_wait_ns && !pp_is_known(a->waited_ns))
		a->exposed_wait_ns = PP_UNKNOWN;
}

static void mark_clocks(struct pp_dataset *d)
{
	for (size_t w = 0; w < d->workers; w++)
		if (!d->worker[w].host_clock)
			d->worker[w].offset_ns = d->worker[w].drift_ppb = PP_UNKNOWN;
	for (size_t i = 0; i < d->channels; i++) {
		if (!d->channel[i].device_count)
			d->channel[i].device_ns = PP_UNKNOWN;
		if (!d->channel[i].seen)
			d->channel[i].error_ns = PP_UNKNOWN;
	}
}

void pp_dataset_mark_unmeasured(struct pp_dataset *d)
{
	for (size_t i = 0; i < d->collectives; i++)
		mark_operation(&d->collective[i]);
	for (size_t i = 0; i < d->arrivals; i++)
		mark_arrival(&d->arrival[i]);
	for (size_t i = 0; i < d->steps * d->workers; i++)
		if (!pp_is_known(d->cell[i].late_ns))
			d->cell[i].late_error_ns = PP_UNKNOWN;
	for (size_t i = 0; i < d->budgets; i++) {
		struct pp_row_budget *b = &d->budget[i];

		if (b->unsplit_ns > 0 && !b->wait_ns && !b->transfer_ns)
			b->wait_ns = b->transfer_ns = PP_UNKNOWN;
	}
	for (size_t i = 0; i < d->memories; i++)
		if (!d->memory[i].pss_present)
			d->memory[i].pss_bytes = PP_UNKNOWN;
	for (size_t i = 0; i < d->processes; i++)
		if (!d->process[i].rss_present)
			d->process[i].rss_peak_bytes = PP_UNKNOWN;
	mark_clocks(d);
}
