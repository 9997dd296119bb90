/* Compares collectives by call and size of their communicator, those of all ranks whatever their number is; see compare.h. */
#include "aggregate/diff/operations.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/dataset/table/functions.h"
#include "core/base/compare.h"
#include "core/base/known.h"

enum { LEAST_PERCENT = 5 }; /* of its own value: a change of less is none */

struct key {
	const char *name;
	uint32_t size; /* 0: all ranks of the run */
};

struct item { /* an operation of a run */
	struct key key;
	size_t row;
};

struct items {
	struct item *item;
	size_t items;
};

struct series { /* operations of one key and run, in order of time */
	double *wait, *transfer, *busbw, *room, bytes;
	size_t n, waits, transfers, rated; /* of which it is known */
};

/* Numbers of operations may differ between podprof's versions: names do not. */
static int compare_keys(const struct key *x, const struct key *y)
{
	const int by_name = strcmp(x->name, y->name);

	return by_name ? by_name : PP_ORDER(x->size, y->size);
}

PP_COMPARE(by_key, struct item, compare_keys(&x->key, &y->key) ?: PP_UP(row))

/* Collectives in steps. */
static int list_of(const struct pp_dataset *d, const struct pp_diff_map *map, int is_first, struct items *ret_items)
{
	struct item *item = calloc(d->collectives + 1, sizeof(*item));
	size_t n = 0;

	if (!item)
		return -ENOMEM;
	for (size_t i = 0; i < d->collectives; i++) {
		const struct pp_row_collective *c = &d->collective[i];
		const struct pp_row_communicator *of;
		uint32_t size;

		if (c->message || c->step == INT64_MIN || c->ranks < 1)
			continue;
		of = pp_dataset_communicator(d, c->communicator);
		size = of && of->size ? of->size : (uint32_t)c->ranks;
		item[n++] = (struct item){{pp_diff_map_name(map, is_first, pp_operation_name(c->operation)),
		                           size == (uint32_t)d->ranks_asked ? 0 : size},
		                          i};
	}
	if (n)
		qsort(item, n, sizeof(*item), by_key);
	*ret_items = (struct items){item, n};
	return 0;
}

static size_t same_key(const struct items *l, size_t first)
{
	size_t n = 0;

	while (first + n < l->items && !compare_keys(&l->item[first].key, &l->item[first + n].key))
		n++;
	return n;
}

static void series_release(struct series *s)
{
	free(s->room);
	free(s->busbw);
	free(s->transfer);
	free(s->wait);
}

static int series_of(const struct pp_dataset *d, const struct item *item, size_t n, struct series *ret_series)
{
	struct series s = {.wait = calloc(n + 1, sizeof(double)),
	                   .transfer = calloc(n + 1, sizeof(double)),
	                   .busbw = calloc(n + 1, sizeof(double)),
	                   .room = calloc(n + 1, sizeof(double)),
	                   .n = n};

	if (!s.wait || !s.transfer || !s.busbw || !s.room) {
		series_release(&s);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++) {
		const struct pp_row_collective *c = &d->collective[item[i].row];

		if (pp_is_known(c->wait_ns))
			s.wait[s.waits++] = (double)c->wait_ns / c->ranks;
		if (pp_is_known(c->transfer_ns))
			s.transfer[s.transfers++] = (double)c->transfer_ns / c->ranks;
		s.bytes += (double)c->bytes / (double)n;
		if (c->busbw > 0 && c->busbw < 1e18) /* a foreign value may be no number */
			s.busbw[s.rated++] = c->busbw;
	}
	*ret_series = s;
	return 0;
}

static struct pp_noise_middle middle(const struct series *s, const double *value, size_t n)
{
	struct pp_noise_middle m;

	pp_noise_middle((struct pp_noise_series){value, n}, s->room, &m);
	return m;
}

/* A change of less than `least` of a step's time is none, as elsewhere. */
static struct pp_noise compare(struct pp_noise_middle a, struct pp_noise_middle b, double least, double matters)
{
	const double own = a.usual * LEAST_PERCENT / 100;

	return pp_noise_compare_known(&a, &b, fmax(least, own), fmax(matters, 2 * own), 3 * PP_DIFF_OPERATIONS_MOST);
}

/* An operation that only one run has weighs as much as it takes there. */
static double weight_of(const struct pp_diff_operation *o, const struct pp_noise *n)
{
	const double a = o->count_a > 0 ? n->a * o->count_a : 0, b = o->count_b > 0 ? n->b * o->count_b : 0;

	return isnan(a) || isnan(b) ? 0 : fabs(b - a);
}

static void fill(struct pp_diff *d, const struct key *key, const struct series *a, const struct series *b)
{
	struct pp_diff_operation *o = &d->operation[d->operations++];
	const struct pp_diff_run *from = &d->run[0], *to = &d->run[d->runs - 1];
	double most, least, matters;

	snprintf(o->name, sizeof(o->name), "%s", key->name);
	o->size_a = !a->n ? 0 : key->size ? key->size : (uint32_t)from->d.ranks_asked;
	o->size_b = !b->n ? 0 : key->size ? key->size : (uint32_t)to->d.ranks_asked;
	o->count_a = from->d.steps ? (double)a->n / (double)from->d.steps : 0;
	o->count_b = to->d.steps ? (double)b->n / (double)to->d.steps : 0;
	o->bytes_a = a->bytes;
	o->bytes_b = b->bytes;
	most = fmax(o->count_a, o->count_b);
	least = most > 0 ? fmax(pp_diff_last(d)->cores, d->least) / most : 0;
	matters = most > 0 ? d->matters / most : 0;
	o->wait = compare(middle(a, a->wait, a->waits), middle(b, b->wait, b->waits), least, matters);
	o->transfer = compare(middle(a, a->transfer, a->transfers), middle(b, b->transfer, b->transfers), least, matters);
	o->busbw = compare(middle(a, a->busbw, a->rated), middle(b, b->busbw, b->rated), 0, 0);
	o->weight = weight_of(o, &o->wait) + weight_of(o, &o->transfer);
}

static int compare_next(struct pp_diff *d, const struct items *list, size_t *at)
{
	const struct item *a = at[0] < list[0].items ? &list[0].item[at[0]] : NULL;
	const struct item *b = at[1] < list[1].items ? &list[1].item[at[1]] : NULL;
	int order = a && b ? compare_keys(&a->key, &b->key) : a ? -1 : 1;
	size_t na = order <= 0 ? same_key(&list[0], at[0]) : 0, nb = order >= 0 ? same_key(&list[1], at[1]) : 0;
	const struct key *key = order <= 0 ? &a->key : &b->key;
	struct series x = {0}, y = {0};
	int rc = 0;

	at[0] += na;
	at[1] += nb;
	if (d->operations == PP_DIFF_OPERATIONS_MOST) {
		d->operations_left++;
		return 0;
	}
	rc = series_of(&d->run[0].d, a, na, &x);
	if (!rc)
		rc = series_of(&d->run[d->runs - 1].d, b, nb, &y);
	if (!rc)
		fill(d, key, &x, &y);
	series_release(&x);
	series_release(&y);
	return rc;
}

PP_COMPARE(by_weight, struct pp_diff_operation,
           PP_ORDER(pp_diff_operation_changed(y), pp_diff_operation_changed(x)) ?: PP_DOWN(weight) ?:
           strcmp(x->name, y->name) ?: PP_UP(size_a))

int pp_diff_operations(struct pp_diff *d)
{
	struct items list[2] = {{NULL, 0}, {NULL, 0}};
	size_t at[2] = {0, 0};
	int rc = list_of(&d->run[0].d, d->shared->map, 1, &list[0]);

	if (!rc)
		rc = list_of(&d->run[d->runs - 1].d, d->shared->map, 0, &list[1]);
	d->operation = calloc(PP_DIFF_OPERATIONS_MOST, sizeof(*d->operation));
	if (!d->operation)
		rc = -ENOMEM;
	while (!rc && (at[0] < list[0].items || at[1] < list[1].items))
		rc = compare_next(d, list, at);
	if (!rc && d->operations)
		qsort(d->operation, d->operations, sizeof(*d->operation), by_weight);
	free(list[0].item);
	free(list[1].item);
	return rc;
}
