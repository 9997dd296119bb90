/* Waiting that nothing recorded shows; see unseen.h. Called by tools.c once the graph has added what it infers. */
#include "aggregate/analyze/unseen.h"

#include "aggregate/dataset/dataset.h"
#include "core/base/known.h"

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

void pp_dataset_mark_unseen(struct pp_dataset *d)
{
	const int is_alone = d->workers <= 1, is_seen = is_alone || pp_dataset_sees_communication(d);

	for (size_t i = 0; i < d->steps * d->workers; i++) {
		struct pp_row_cell *cell = &d->cell[i];
		const int is_split = cell->wait_ns || cell->transfer_ns;

		if (cell->present && is_seen && (is_alone || is_split || communication_of(cell) <= 0))
			continue;
		cell->wait_ns = cell->transfer_ns = PP_UNKNOWN;
	}
	for (size_t s = 0; s < d->steps; s++)
		mark_step(&d->cell[s * d->workers], d->workers);
}
