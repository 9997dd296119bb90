/* Compares operators by name: self time per step and rank; see compare.h. /op has sums only, so that its own noise is unknown: a
 * change counts if it is larger than the noise floor of the step. */
#include "aggregate/diff/ops.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/compare.h"
#include "core/base/utf8.h"
#include "core/ring/intern.h"

struct item { /* rows of one run with one name and side, in the end only one */
	const char *name;
	int side;
	double self, calls;
};

struct items {
	struct item *item;
	size_t items;
};

PP_COMPARE(by_name, struct item, strcmp(x->name, y->name) ?: x->side - y->side)

static int list_of(const struct pp_diff_run *run, const struct pp_diff_map *map, int is_first, struct items *ret_items)
{
	const struct pp_dataset *d = &run->d;
	struct item *item = calloc(d->ops + 1, sizeof(*item));
	size_t n = 0, sums = 0;

	if (!item)
		return -ENOMEM;
	for (size_t i = 0; i < d->ops; i++) {
		const struct pp_row_op *o = &d->op[i];

		if (pp_dataset_worker(d, o->worker) != SIZE_MAX)
			item[n++] = (struct item){pp_diff_map_name(map, is_first, pp_intern_text(d->names, o->name, NULL)), o->side,
			                          (double)o->self_ns, (double)o->calls};
	}
	if (n)
		qsort(item, n, sizeof(*item), by_name);
	for (size_t i = 0; i < n; i++) {
		if (sums && !by_name(&item[sums - 1], &item[i])) {
			item[sums - 1].self += item[i].self;
			item[sums - 1].calls += item[i].calls;
		} else {
			item[sums++] = item[i];
		}
	}
	for (size_t i = 0; i < sums && run->rank_steps; i++) {
		item[i].self /= (double)run->rank_steps;
		item[i].calls /= (double)run->rank_steps;
	}
	*ret_items = (struct items){item, sums};
	return 0;
}

PP_COMPARE(by_change, struct pp_diff_op,
           PP_ORDER(fabs(y->b - y->a), fabs(x->b - x->a)) ?: strcmp(x->name, y->name) ?: x->side - y->side)

static void merge(struct pp_diff *d, const struct items *a, const struct items *b)
{
	double floor = fmax(pp_diff_last(d)->step.floor, pp_diff_last(d)->cores);
	size_t i = 0, k = 0;

	while (i < a->items || k < b->items) {
		int order = i == a->items ? 1 : k == b->items ? -1 : by_name(&a->item[i], &b->item[k]);
		const struct item *any = order <= 0 ? &a->item[i] : &b->item[k];
		const char *name = any->name;
		struct pp_diff_op o = {.side = any->side};

		if (order <= 0) {
			o.a = a->item[i].self;
			o.calls_a = a->item[i++].calls;
		}
		if (order >= 0) {
			o.b = b->item[k].self;
			o.calls_b = b->item[k++].calls;
		}
		if (fabs(o.b - o.a) <= floor) {
			d->ops_below++;
			continue;
		}
		memcpy(o.name, name, (size_t)pp_utf8_fit(name, PP_DIFF_NAME - 1));
		d->op[d->ops++] = o;
	}
}

int pp_diff_ops(struct pp_diff *d)
{
	struct items a = {NULL, 0}, b = {NULL, 0};
	int rc = list_of(&d->run[0], d->shared->map, 1, &a);

	if (!rc)
		rc = list_of(&d->run[d->runs - 1], d->shared->map, 0, &b);
	d->op = calloc(a.items + b.items + 1, sizeof(*d->op));
	if (!d->op)
		rc = -ENOMEM;
	if (!rc)
		merge(d, &a, &b);
	if (!rc && d->ops)
		qsort(d->op, d->ops, sizeof(*d->op), by_change);
	free(a.item);
	free(b.item);
	return rc;
}
