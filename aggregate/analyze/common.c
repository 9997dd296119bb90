/* Steps that ranks of one host completed and ranks of another did not, where nobody asked for steps by number: as core/step
 * decides for ranks of one keeper, they are no steps. Called by merge.c when all parts are in. */
#include <errno.h>
#include <stdlib.h>

#include "aggregate/dataset/merge_part.h"

static int is_common(const struct pp_dataset *d, const uint8_t *has_steps, size_t step)
{
	for (size_t w = 0; w < d->workers; w++)
		if (has_steps[w] && !d->cell[step * d->workers + w].present)
			return 0;
	return 1;
}

static void drop_steps(struct pp_dataset *d, const uint32_t *to)
{
	d->window_begin_ns = INT64_MAX;
	d->window_end_ns = INT64_MIN;
	for (size_t s = 0; s < d->steps; s++) {
		for (size_t w = 0; w < d->workers && to[s] != PP_STEP_NONE; w++) {
			size_t from = s * d->workers + w, at = to[s] * d->workers + w;
			const struct pp_cell *cell = &d->cell[at];

			d->cell[at] = d->cell[from];
			if (d->process)
				d->process[at] = d->process[from];
			if (cell->present && cell->begin_ns < d->window_begin_ns)
				d->window_begin_ns = cell->begin_ns;
			if (cell->present && cell->end_ns > d->window_end_ns)
				d->window_end_ns = cell->end_ns;
		}
		if (to[s] != PP_STEP_NONE)
			d->step_number[to[s]] = d->step_number[s];
	}
	for (size_t i = 0; i < d->exposeds; i++)
		d->exposed[i].step = to[d->exposed[i].step] & PP_STEP_NONE;
}

int pp_merge_common_steps(struct pp_dataset *d)
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
		to[s] = is_common(d, has_steps, s) ? kept++ : PP_STEP_NONE;
	if (kept && kept < d->steps) { /* what none has in common is still better than nothing */
		drop_steps(d, to);
		d->steps = kept;
	}
	free(to);
	free(has_steps);
	return 0;
}
