/* Computes how busy the data loader's workers are, beside the time that steps wait for input. Called by build.c. */
#include <math.h>
#include <stdlib.h>

#include "aggregate/analyze/build.h"
#include "aggregate/analyze/join.h"
#include "core/capture/capture.h"
#include "core/capture/thread.h"
#include "core/ring/intern.h"

/* A counter of the framework's shim: share of the workers that are busy. */
static const char busy[] = "dataloader workers busy";

/* Length of the step that had just ended when the sample was taken, a little before or after its end. */
static double length_at(const struct pp_join *j, size_t rank, int64_t when, size_t *at)
{
	const struct pp_steps *steps = j->in->steps;
	const struct pp_step_cell *found = NULL;

	for (size_t s = *at; s < steps->steps; s++) {
		const struct pp_step_cell *cell = &steps->cell[s * j->in->capture->ranks + rank];

		if (!cell->present)
			continue;
		if (found && llabs(cell->end - when) > llabs(found->end - when))
			break;
		found = cell;
		*at = s;
	}
	return found && found->end > found->begin ? (double)(found->end - found->begin) : 0;
}

/* Weights each sample by the length of its step. */
static double count_thread(struct pp_join *j, struct pp_row_worker *w, size_t rank, const struct pp_thread *thread, uint32_t name,
                           int64_t begin, int64_t end)
{
	double all = 0;
	size_t at = 0;

	for (size_t k = 0; k < pp_thread_others(thread, PP_SPAN_BIT(PP_SPAN_COUNTER)); k++) {
		const struct pp_span *span = &thread->span[pp_thread_other(thread, k)];
		double length;

		if (span->kind != PP_SPAN_COUNTER || span->name != name || span->begin < begin || span->begin > end)
			continue;
		if (!isfinite(span->value) || span->value < 0 || span->value > 1)
			continue;
		length = length_at(j, rank, span->begin, &at);
		w->loader_busy += span->value * length;
		w->loader_samples++;
		all += length;
	}
	return all;
}

int pp_join_input(struct pp_join *j)
{
	const struct pp_steps *steps = j->in->steps;
	size_t ranks = j->in->capture->ranks;
	uint32_t name = pp_intern_put(j->in->capture->names, busy, sizeof(busy) - 1);

	for (size_t r = 0; r < ranks && name; r++) {
		const struct pp_rank *rank = &j->in->capture->rank[r];
		struct pp_row_worker *w = &j->d->worker[r];
		int64_t begin = INT64_MAX, end = INT64_MIN;
		double all = 0;

		for (size_t s = 0; s < steps->steps; s++) {
			const struct pp_step_cell *cell = &steps->cell[s * ranks + r];

			begin = cell->present && cell->begin < begin ? cell->begin : begin;
			end = cell->present && cell->end > end ? cell->end : end;
		}
		for (size_t t = 0; t < rank->threads; t++)
			all += count_thread(j, w, r, &rank->thread[t], name, begin, end);
		w->loader_busy = all > 0 ? fmin(w->loader_busy / all, 1) : 0;
	}
	return 0;
}
