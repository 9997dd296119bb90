/* Resources of the processes: /process by step and by time; and the start-up time. Called by build.c. */
#include <errno.h>
#include <stdlib.h>

#include "aggregate/analyze/build.h"
#include "aggregate/analyze/join.h"
#include "core/base/known.h"
#include "core/base/partition.h"
#include "core/call/mpi_call.h"
#include "core/capture/capture.h"
#include "core/capture/side.h"
#include "core/capture/thread.h"

/* First sample at or after `time`. */
static size_t first_usage(const struct pp_rank *r, int64_t time)
{
	return PP_PARTITION(r->usages, at, r->usage[at].time < time);
}

/* Fills the cell from the step's end and the sample before it, which is the step's begin whatever step it was taken for. */
static void fill_usage(struct pp_row_process *p, const struct pp_rank *r, const struct pp_step_cell *step, int64_t number)
{
	size_t at = first_usage(r, step->end);
	const struct pp_usage *a, *b;

	if (!at || at == r->usages)
		return;
	a = &r->usage[at - 1];
	b = &r->usage[at];
	if (!b->is_end || b->number != number || b->sequence != a->sequence + 1 || a->time > step->begin ||
	    b->user_ns < a->user_ns || b->system_ns < a->system_ns) /* a damaged ring */
		return;
	p->present = 1;
	p->cpu_user_ns = (int64_t)(b->user_ns - a->user_ns);
	p->cpu_system_ns = (int64_t)(b->system_ns - a->system_ns);
	p->voluntary_switches = (int64_t)(uint32_t)(b->voluntary - a->voluntary);
	p->involuntary_switches = (int64_t)(uint32_t)(b->involuntary - a->involuntary);
	p->minor_faults = (int64_t)(uint32_t)(b->minor_faults - a->minor_faults);
	p->major_faults = (int64_t)(uint32_t)(b->major_faults - a->major_faults);
	if (b->peak_bytes > a->peak_bytes) { /* the peak rose inside the step: it is the step's peak */
		p->rss_peak_bytes = (int64_t)b->peak_bytes;
		p->rss_present = 1;
	}
}

static void fill_peak(struct pp_row_process *p, const struct pp_rank *r, const struct pp_step_cell *step, size_t *at)
{
	while (*at < r->memories && r->memory[*at].time < step->begin)
		(*at)++;
	for (size_t i = *at; i < r->memories && r->memory[i].time <= step->end; i++) {
		if ((int64_t)r->memory[i].rss_bytes > p->rss_peak_bytes)
			p->rss_peak_bytes = (int64_t)r->memory[i].rss_bytes;
		p->rss_present = 1;
	}
}

static int fill_cells(struct pp_join *j)
{
	const struct pp_steps *steps = j->in->steps;
	const struct pp_capture *c = j->in->capture;
	struct pp_dataset *d = j->d;
	struct pp_row_process *cell_of = calloc(d->steps * d->workers + 1, sizeof(*cell_of)); /* in the order of rows */

	if (!cell_of)
		return -ENOMEM;
	for (size_t r = 0; r < c->ranks; r++) {
		int64_t before = INT64_MIN;
		size_t at = 0;

		for (size_t s = 0; s < d->steps; s++) {
			const struct pp_step_cell *cell = &steps->cell[s * c->ranks + r];
			struct pp_row_process *p = &cell_of[s * d->workers + r];

			if (!cell->present)
				continue;
			at = cell->begin < before ? 0 : at; /* step numbers that go back in time */
			before = cell->begin;
			p->step = steps->number[s];
			p->worker = c->rank[r].rank;
			fill_usage(p, &c->rank[r], cell, steps->number[s]);
			fill_peak(p, &c->rank[r], cell, &at);
		}
	}
	d->process = cell_of;
	for (size_t i = 0; i < d->steps * d->workers; i++)
		if (cell_of[i].present || cell_of[i].rss_present)
			d->process[d->processes++] = cell_of[i];
	return 0;
}

static int fill_samples(struct pp_join *j)
{
	struct pp_table sample = {.desc = pp_table_desc(PP_TABLE_process_sample)};
	const struct pp_capture *c = j->in->capture;
	struct pp_dataset *d = j->d;
	int rc = 0;

	for (size_t r = 0; r < c->ranks && rc == 0; r++)
		for (size_t i = 0; i < c->rank[r].memories && rc == 0; i++) {
			const struct pp_memory *m = &c->rank[r].memory[i];
			struct pp_row_process_sample *row = pp_table_add(&sample);

			rc = row ? 0 : -ENOMEM;
			if (row)
				*row = (struct pp_row_process_sample){
				        .sample_worker = c->rank[r].rank,
				        .sample_time_ns = m->time,
				        .sample_cpu_user_ns = m->user_ns,
				        .sample_cpu_system_ns = m->system_ns,
				        .sample_minor_faults = m->minor_faults,
				        .sample_major_faults = m->major_faults,
				        .sample_children_cpu_ns = m->children_cpu_ns,
				        .sample_run_queue_ns = m->run_queue_ns ? (int64_t)m->run_queue_ns : PP_UNKNOWN};
		}
	d->process_sample = sample.row;
	d->process_samples = sample.rows;
	d->memory_period_ns = sample.rows ? c->memory_period_ns : 0;
	return rc;
}

static int64_t overlap(const struct pp_span *s, const struct pp_step_cell *cell)
{
	int64_t begin = s->begin > cell->begin ? s->begin : cell->begin, end = s->end < cell->end ? s->end : cell->end;

	return cell->present && end > begin ? end - begin : 0;
}

/* Only where no loop was found: no rank starts MPI inside a marked step. */
static void sum_startup(struct pp_join *j)
{
	const struct pp_capture *c = j->in->capture;
	const struct pp_steps *steps = j->in->steps;

	for (size_t r = 0; steps->steps == 1 && r < c->ranks; r++)
		for (size_t t = 0; t < c->rank[r].threads; t++) {
			const struct pp_thread *thread = &c->rank[r].thread[t];

			for (size_t k = 0; k < pp_thread_others(thread, PP_SPAN_BIT(PP_SPAN_MPI)); k++) {
				const struct pp_span *s = &thread->span[pp_thread_other(thread, k)];

				if (s->kind == PP_SPAN_MPI && pp_mpi_call_info(s->mpi.call)->class == PP_MPI_LOCAL_INIT)
					j->d->startup_ns += overlap(s, &steps->cell[r]);
			}
		}
}

int pp_join_process(struct pp_join *j)
{
	int rc = fill_cells(j);

	if (!rc)
		rc = fill_samples(j);
	if (!rc)
		sum_startup(j);
	return rc;
}
