/* Fills /step_statistics: mean, deviation and range of step time and of each category, by worker and of all. Called by tools.c. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "aggregate/tools/tools.h"
#include "core/base/wrap.h"

struct sums { /* of one category */
	int64_t sum, least, most;
	double squares; /* of differences to the mean */
};

static int64_t value(const struct pp_row_cell *cell, int category)
{
	return category ? cell->exclusive_ns[category] : cell->step_ns;
}

/* Adds the workers' cells from `first` to `last`. In two passes: differences to the mean lose no digits. */
static int add_rows(const struct pp_dataset *in, int32_t worker, size_t first, size_t last, const int *shown, struct pp_table *to)
{
	struct sums of[PP_CATEGORIES + 1];
	uint64_t n = 0;

	for (int c = 0; c <= PP_CATEGORIES; c++)
		of[c] = (struct sums){.least = INT64_MAX};
	for (int pass = 0; pass < 2; pass++)
		for (size_t s = 0; s < in->steps; s++)
			for (size_t w = first; w <= last; w++) {
				const struct pp_row_cell *cell = &in->cell[s * in->workers + w];

				n += cell->present && !pass;
				for (int c = 0; c <= PP_CATEGORIES && cell->present; c++) {
					int64_t ns = value(cell, c);
					double off = pass ? (double)ns - (double)of[c].sum / (double)n : 0;

					of[c].squares += off * off;
					of[c].sum = pp_wrap_plus(of[c].sum, pass ? 0 : ns);
					of[c].least = ns < of[c].least ? ns : of[c].least;
					of[c].most = ns > of[c].most ? ns : of[c].most;
				}
			}
	for (int c = 0; c <= PP_CATEGORIES && n; c++) {
		struct pp_row_step_statistics *row = shown[c] ? pp_table_add(to) : NULL;

		if (shown[c] && !row)
			return -ENOMEM;
		if (row)
			*row = (struct pp_row_step_statistics){.worker = worker,
			                                       .category = (int8_t)c,
			                                       .steps = n,
			                                       .mean_ns = (double)of[c].sum / (double)n,
			                                       .deviation_ns = sqrt(of[c].squares / (double)n),
			                                       .min_ns = of[c].least,
			                                       .max_ns = of[c].most};
	}
	return 0;
}

int pp_tool_step_statistics(const struct pp_dataset *in, struct pp_table *tables, struct pp_err *err)
{
	struct pp_table *to = &tables[PP_TABLE_step_statistics];
	int shown[PP_CATEGORIES + 1] = {1}; /* categories that no step has are left out */
	int rc = 0;

	for (size_t i = 0; i < in->steps * in->workers; i++)
		for (int c = 1; c <= PP_CATEGORIES; c++)
			shown[c] |= in->cell[i].present && in->cell[i].exclusive_ns[c] > 0;
	if (in->workers)
		rc = add_rows(in, -1, 0, in->workers - 1, shown, to);
	for (size_t w = 0; w < in->workers && !rc; w++)
		rc = add_rows(in, in->worker[w].rank, w, w, shown, to);
	return rc ? pp_err_set(err, rc, "no memory for the statistics of steps") : 0;
}
