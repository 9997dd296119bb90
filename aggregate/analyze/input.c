/* What is known of the input pipeline beside the time that steps wait for it: how busy the data loader's workers are.
 * Called by dataset.c. */
#include <math.h>

#include "aggregate/analyze/op.h"
#include "core/ring/intern.h"

/* A counter of the framework's shim: the share of them that is at work. */
static const char busy[] = "dataloader workers busy";

static void count_thread(struct pp_worker *w, const struct pp_thread *thread, uint32_t name, int64_t begin, int64_t end)
{
	if (!pp_thread_may_have(thread, PP_SPAN_BIT(PP_SPAN_COUNTER)))
		return;
	for (size_t i = 0; i < thread->spans; i++) {
		const struct pp_span *span = &thread->span[i];

		if (span->kind != PP_SPAN_COUNTER || span->name != name || span->begin < begin || span->begin > end)
			continue;
		if (!isfinite(span->value) || span->value < 0 || span->value > 1)
			continue;
		w->loader_busy += span->value;
		w->loader_samples++;
	}
}

int pp_join_input(struct pp_join *j)
{
	const struct pp_steps *steps = j->in->steps;
	size_t ranks = j->in->capture->ranks;
	uint32_t name = pp_intern_put(j->in->capture->names, busy, sizeof(busy) - 1);

	for (size_t r = 0; r < ranks && name; r++) {
		const struct pp_rank *rank = &j->in->capture->rank[r];
		struct pp_worker *w = &j->d->worker[j->worker_of[r]];
		int64_t begin = INT64_MAX, end = INT64_MIN;

		for (size_t s = 0; s < steps->steps; s++) {
			const struct pp_step_cell *cell = &steps->cell[s * ranks + r];

			begin = cell->present && cell->begin < begin ? cell->begin : begin;
			end = cell->present && cell->end > end ? cell->end : end;
		}
		for (size_t t = 0; t < rank->threads; t++)
			count_thread(w, &rank->thread[t], name, begin, end);
		if (w->loader_samples)
			w->loader_busy /= w->loader_samples;
	}
	return 0;
}
