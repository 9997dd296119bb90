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

struct all { /* of a worker, or of all */
	struct sums of[PP_CATEGORIES + 1];
	uint64_t n;
};

static void begin(struct all *a)
{
	*a = (struct all){.n = 0};
	for (int c = 0; c <= PP_CATEGORIES; c++)
		a->of[c].least = INT64_MAX;
}

static void add_cell(struct all *a, const struct pp_row_cell *cell)
{
	a->n++;
	for (int c = 0; c <= PP_CATEGORIES; c++) {
		struct sums *of = &a->of[c];
		int64_t ns = value(cell, c);

		of->sum = pp_wrap_plus(of->sum, ns);
		of->least = ns < of->least ? ns : of->least;
		of->most = ns > of->most ? ns : of->most;
	}
}

static void add_squares(struct all *a, const struct pp_row_cell *cell)
{
	for (int c = 0; c <= PP_CATEGORIES; c++) {
		double off = (double)value(cell, c) - (double)a->of[c].sum / (double)a->n;

		a->of[c].squares += off * off;
	}
}

/* In two passes over the cells as they lie: differences to the mean lose no digits. */
static void add_up(const struct pp_dataset *in, struct all *whole, struct all *worker)
{
	begin(whole);
	for (size_t w = 0; w < in->workers; w++)
		begin(&worker[w]);
	for (int pass = 0; pass < 2; pass++) {
		for (size_t s = 0; s < in->steps; s++) {
			for (size_t w = 0; w < in->workers; w++) {
				const struct pp_row_cell *cell = &in->cell[s * in->workers + w];

				if (!cell->present)
					continue;
				(pass ? add_squares : add_cell)(whole, cell);
				(pass ? add_squares : add_cell)(&worker[w], cell);
			}
		}
	}
}

/* Rows of categories that no step has are left out. */
static int add_rows(const struct all *a, const struct all *whole, int32_t worker, struct pp_table *to)
{
	for (int c = 0; c <= PP_CATEGORIES && a->n; c++) {
		int is_shown = !c || whole->of[c].most > 0;
		struct pp_row_step_statistics *row = is_shown ? pp_table_add(to) : NULL;

		if (is_shown && !row)
			return -ENOMEM;
		if (row)
			*row = (struct pp_row_step_statistics){.worker = worker,
			                                       .category = (int8_t)c,
			                                       .steps = a->n,
			                                       .mean_ns = (double)a->of[c].sum / (double)a->n,
			                                       .deviation_ns = sqrt(a->of[c].squares / (double)a->n),
			                                       .min_ns = a->of[c].least,
			                                       .max_ns = a->of[c].most};
	}
	return 0;
}

int pp_tool_step_statistics(const struct pp_dataset *in, struct pp_table *tables, struct pp_err *err)
{
	struct pp_table *to = &tables[PP_TABLE_step_statistics];
	struct all whole, *worker = malloc((in->workers + 1) * sizeof(*worker));
	int rc = worker ? 0 : -ENOMEM;

	if (!rc) {
		add_up(in, &whole, worker);
		rc = add_rows(&whole, &whole, -1, to);
	}
	for (size_t w = 0; w < in->workers && !rc; w++)
		rc = add_rows(&worker[w], &whole, in->worker[w].rank, to);
	free(worker);
	return rc ? pp_err_set(err, rc, "no memory for the statistics of steps") : 0;
}
