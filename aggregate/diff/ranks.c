/* Names ranks whose own time changed other than that of the ranks of their role; see compare.h. */
#include "aggregate/diff/ranks.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "core/base/compare.h"
#include "core/base/grow.h"

enum { ALONE = 3 };

struct change { /* of one rank: b - a */
	double a, b, noise;
	int known;
};

static struct change change_of(const struct pp_diff *d, size_t rank, int quantity, size_t family)
{
	const struct pp_noise_middle *a = &d->run[0].own[rank][quantity], *b = &d->run[d->runs - 1].own[rank][quantity];

	return (struct change){.a = a->usual,
	                       .b = b->usual,
	                       .noise = fmax(pp_noise_half(a, b, family), fmax(a->floor, b->floor)),
	                       .known = a->steps >= PP_NOISE_STEPS && b->steps >= PP_NOISE_STEPS};
}

/* The usual change of `n` ranks: the one nearest to 0 of their middle half. If half of them changed, the other half is usual.
 * And how much the nearer half of the ranks varies around it. Sorts `value`. */
static void usual(double *value, size_t n, double *ret_usual, double *ret_spread)
{
	double low, high;

	*ret_usual = *ret_spread = 0;
	if (n < ALONE)
		return;
	qsort(value, n, sizeof(*value), pp_compare_double);
	low = value[(n - 1) / 4];
	high = value[n - 1 - (n - 1) / 4];
	*ret_usual = low > 0 ? low : high < 0 ? high : 0;
	for (size_t i = 0; i < n; i++)
		value[i] = fabs(value[i] - *ret_usual);
	qsort(value, n, sizeof(*value), pp_compare_double);
	*ret_spread = value[(n - 1) / 2];
}

struct list {
	struct pp_diff_rank *row;
	size_t rows, room;
};

/* The others wait for a rank whose own work is what it was: it was waiting itself, if no waiting goes back to it. */
static int passes_on(const struct pp_diff *d, int32_t rank, const struct list *own)
{
	if (!d->run[0].d.blames || !d->run[d->runs - 1].d.blames)
		return 0;
	for (size_t i = 0; i < own->rows; i++)
		if (own->row[i].rank == rank)
			return 0;
	for (size_t i = 0; i < d->causes; i++)
		if (d->cause[i].rank == rank)
			return 0;
	return 1;
}

/* One quantity of the ranks of one group. change, value: [ranks]. Waiting for a rank is part of the step, whose noise
 * goes from rank to rank: less than that is none. */
static int add_group(const struct pp_diff *d, uint32_t group, int quantity, struct change *change, double *value, struct list *list)
{
	const struct pp_diff_shared *s = d->shared;
	double others, spread,
	        least = fmax(pp_diff_last(d)->cores, quantity == PP_DIFF_LATE ? pp_diff_last(d)->step.floor : d->least);
	const size_t family = s->ranks * (PP_DIFF_LATE + 1);
	size_t n = 0;

	for (size_t i = 0; i < s->ranks; i++) {
		change[i].known = 0;
		if (s->group_of[i] != group)
			continue;
		change[i] = change_of(d, i, quantity, family);
		if (change[i].known)
			value[n++] = change[i].b - change[i].a;
	}
	usual(value, n, &others, &spread);
	for (size_t i = 0; i < s->ranks; i++) {
		double by = change[i].b - change[i].a, noise = fmax(least, fmax(change[i].noise, 4 * spread));
		struct pp_diff_rank *more;

		if (!change[i].known || fabs(by) <= noise || fabs(by - others) <= noise)
			continue;
		if (quantity == PP_DIFF_LATE && passes_on(d, s->rank[i], list))
			continue;
		more = pp_grow(list->row, list->rows, &list->room, sizeof(*more));
		if (!more)
			return -ENOMEM;
		list->row = more;
		list->row[list->rows++] =
		        (struct pp_diff_rank){s->rank[i], quantity, s->other[i], change[i].a, change[i].b, others, noise};
	}
	return 0;
}

static double size_of(const struct pp_diff_rank *r)
{
	return fabs(r->b - r->a - r->others);
}

PP_COMPARE(by_rank, struct pp_diff_rank, PP_UP(rank) ?: PP_ORDER(size_of(y), size_of(x)) ?: PP_UP(quantity))

struct run { /* rows of one rank */
	size_t first, rows;
	double size;
};

PP_COMPARE(by_size, struct run, PP_DOWN(size) ?: PP_UP(first))

/* Ranks with the largest change first. */
static int sort(struct pp_diff *d, struct list *list)
{
	struct run *run = calloc(list->rows + 1, sizeof(*run));
	struct pp_diff_rank *row = calloc(list->rows + 1, sizeof(*row));
	size_t runs = 0, n = 0;

	if (!run || !row) {
		free(run);
		free(row);
		return -ENOMEM;
	}
	if (list->rows)
		qsort(list->row, list->rows, sizeof(*list->row), by_rank);
	for (size_t i = 0; i < list->rows; i++) {
		if (!i || list->row[i].rank != list->row[i - 1].rank)
			run[runs++] = (struct run){i, 0, size_of(&list->row[i])};
		run[runs - 1].rows++;
	}
	if (runs)
		qsort(run, runs, sizeof(*run), by_size);
	for (size_t r = 0; r < runs; r++)
		for (size_t i = 0; i < run[r].rows; i++)
			row[n++] = list->row[run[r].first + i];
	free(run);
	d->rank = row;
	d->ranks = n;
	d->ranks_changed = runs;
	return 0;
}

int pp_diff_ranks(struct pp_diff *d)
{
	size_t ranks = d->shared->ranks;
	struct change *change = calloc(ranks + 1, sizeof(*change));
	double *value = calloc(ranks + 1, sizeof(*value));
	struct list list = {0};
	int rc = change && value ? 0 : -ENOMEM;

	for (uint32_t g = 0; g <= d->shared->groups; g++) /* the last one: ranks whose role is not compared */
		for (int q = 1; q <= PP_DIFF_LATE && !rc; q++)
			rc = add_group(d, g, q, change, value, &list);
	if (!rc)
		rc = sort(d, &list);
	free(list.row);
	free(value);
	free(change);
	return rc;
}
