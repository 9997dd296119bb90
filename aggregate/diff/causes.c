/* Compares what the others waited for, by rank and reason, where both runs know it (/blame); see compare.h. Sums only: a change
 * counts if it is larger than the noise floor of the step and the error of the clocks. */
#include "aggregate/diff/causes.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/dataset/table/functions.h"
#include "core/base/compare.h"

struct item {
	int32_t rank, reason;
	double wait, error; /* per step and other rank */
};

struct items {
	struct item *item;
	size_t items;
};

PP_COMPARE_BY_2(by_key, struct item, rank, reason)

static int list_of(const struct pp_diff_run *run, const struct pp_diff_shared *s, int is_first, struct items *ret_items)
{
	const struct pp_dataset *d = &run->d;
	struct item *item = calloc(d->blames + 1, sizeof(*item));
	double share = (double)d->steps * (double)(d->workers > 1 ? d->workers - 1 : 1);
	size_t n = 0, remaining = 0;

	if (!item)
		return -ENOMEM;
	for (size_t i = 0; i < d->blames && share > 0; i++) {
		const struct pp_row_blame *b = &d->blame[i];
		const size_t rank = pp_diff_shared_find(s, is_first, b->worker);

		if (rank != SIZE_MAX)
			item[n++] = (struct item){s->rank[rank], b->reason, (double)b->blame_ns / share,
			                          fabs((double)b->error_ns) / share};
	}
	if (n)
		qsort(item, n, sizeof(*item), by_key);
	for (size_t i = 0; i < n; i++) /* a damaged file may have a key twice */
		if (!remaining || by_key(&item[remaining - 1], &item[i]))
			item[remaining++] = item[i];
	*ret_items = (struct items){item, remaining};
	return 0;
}

PP_COMPARE(by_change, struct pp_diff_cause, PP_ORDER(fabs(y->b - y->a), fabs(x->b - x->a)) ?: PP_UP(rank))

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
	rc = list_of(from, d->shared, 1, &a);
	if (!rc)
		rc = list_of(to, d->shared, 0, &b);
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
