/* Compares what the others waited for, by rank and reason, where both runs know it (/blame); see compare.h. Sums only: a change
 * counts if it is larger than the noise floor of the step and the error of the clocks. */
#include "aggregate/diff/causes.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/dataset/table/functions.h"

struct item {
	int32_t rank, reason;
	double wait, error; /* per step and other rank */
};

struct items {
	struct item *item;
	size_t items;
};

static int by_rank(const void *a, const void *b)
{
	int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

	return (x > y) - (x < y);
}

static int by_key(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return (x->reason > y->reason) - (x->reason < y->reason);
}

static int list_of(const struct pp_diff_run *run, const struct pp_diff_shared *s, struct items *ret_items)
{
	const struct pp_dataset *d = &run->d;
	struct item *item = calloc(d->blames + 1, sizeof(*item));
	double share = (double)d->steps * (double)(d->workers > 1 ? d->workers - 1 : 1);
	size_t n = 0, remaining = 0;

	if (!item)
		return -ENOMEM;
	for (size_t i = 0; i < d->blames && share > 0; i++) {
		const struct pp_row_blame *b = &d->blame[i];

		if (s->ranks && bsearch(&b->worker, s->rank, s->ranks, sizeof(*s->rank), by_rank))
			item[n++] =
			        (struct item){b->worker, b->reason, (double)b->blame_ns / share, fabs((double)b->error_ns) / share};
	}
	if (n)
		qsort(item, n, sizeof(*item), by_key);
	for (size_t i = 0; i < n; i++) /* a damaged file may have a key twice */
		if (!remaining || by_key(&item[remaining - 1], &item[i]))
			item[remaining++] = item[i];
	*ret_items = (struct items){item, remaining};
	return 0;
}

static int by_change(const void *a, const void *b)
{
	const struct pp_diff_cause *x = a, *y = b;
	double p = fabs(x->b - x->a), q = fabs(y->b - y->a);

	return p != q ? (p > q ? -1 : 1) : (x->rank > y->rank) - (x->rank < y->rank);
}

static void merge(struct pp_diff *d, const struct items *a, const struct items *b)
{
	double floor = fmax(pp_diff_last(d)->step.floor, pp_diff_last(d)->cores);
	size_t i = 0, k = 0;

	while (i < a->items || k < b->items) {
		int order = i == a->items ? 1 : k == b->items ? -1 : by_key(&a->item[i], &b->item[k]);
		const struct item *any = order <= 0 ? &a->item[i] : &b->item[k];
		struct pp_diff_cause c = {.rank = any->rank};
		double error = any->error;

		snprintf(c.reason, sizeof(c.reason), "%s", pp_reason_name(any->reason));
		if (order <= 0)
			c.a = a->item[i++].wait;
		if (order >= 0) {
			error = fmax(error, b->item[k].error);
			c.b = b->item[k++].wait;
		}
		if (fabs(c.b - c.a) > fmax(floor, error))
			d->cause[d->causes++] = c;
		else
			d->causes_below++;
	}
}

int pp_diff_causes(struct pp_diff *d)
{
	const struct pp_diff_run *from = &d->run[0], *to = &d->run[d->runs - 1];
	struct items a = {NULL, 0}, b = {NULL, 0};
	int rc;

	if (!from->d.blames || !to->d.blames) /* unknown in one: no change is known */
		return 0;
	rc = list_of(from, d->shared, &a);
	if (!rc)
		rc = list_of(to, d->shared, &b);
	d->cause = calloc(a.items + b.items + 1, sizeof(*d->cause));
	if (!d->cause)
		rc = -ENOMEM;
	if (!rc)
		merge(d, &a, &b);
	if (!rc && d->causes)
		qsort(d->cause, d->causes, sizeof(*d->cause), by_change);
	free(a.item);
	free(b.item);
	return rc;
}
