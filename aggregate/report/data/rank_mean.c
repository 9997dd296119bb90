/* Sums up the usual steps of each rank; see rank_mean.h. */
#include "aggregate/report/data/rank_mean.h"

#include <stdlib.h>

#include "core/base/known.h"
#include "core/base/wrap.h"

/* Cells of a rank in which each is known. */
struct known {
	int64_t wait, transfer, late;
};

static void add_cell(struct pp_rank_mean *m, struct known *n, const struct pp_row_cell *cell)
{
	if (!cell->present)
		return;
	m->steps++;
	pp_wrap_add(&m->ns[0], cell->step_ns);
	for (int k = 1; k <= PP_CATEGORIES; k++)
		pp_wrap_add(&m->ns[k], cell->exclusive_ns[k]);
	pp_known_add(&m->wait_ns, cell->wait_ns);
	pp_known_add(&m->transfer_ns, cell->transfer_ns);
	pp_known_add(&m->late_ns, cell->late_ns);
	n->wait += pp_is_known(cell->wait_ns);
	n->transfer += pp_is_known(cell->transfer_ns);
	n->late += pp_is_known(cell->late_ns);
}

struct pp_rank_mean *pp_rank_means(const struct pp_dataset *d, const struct pp_usual_steps *u)
{
	struct pp_rank_mean *mean = calloc(d->workers + 1, sizeof(*mean));
	struct known *known = calloc(d->workers + 1, sizeof(*known));

	if (!mean || !known) {
		free(mean);
		free(known);
		return NULL;
	}
	for (size_t w = 0; w < d->workers; w++)
		mean[w].wait_ns = mean[w].transfer_ns = mean[w].late_ns = PP_UNKNOWN;
	for (size_t s = 0; s < d->steps; s++)
		for (size_t w = 0; w < d->workers && u->is_usual[s]; w++)
			add_cell(&mean[w], &known[w], &d->cell[s * d->workers + w]);
	for (size_t w = 0; w < d->workers; w++) {
		struct pp_rank_mean *m = &mean[w];

		for (int k = 0; k <= PP_CATEGORIES && m->steps; k++)
			m->ns[k] /= m->steps;
		m->wait_ns = pp_known_part(m->wait_ns, known[w].wait);
		m->transfer_ns = pp_known_part(m->transfer_ns, known[w].transfer);
		m->late_ns = pp_known_part(m->late_ns, known[w].late);
	}
	free(known);
	return mean;
}
