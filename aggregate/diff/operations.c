/* Compares collectives by call and size of their communicator; see compare.h. */
#include "aggregate/diff/operations.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/dataset/table/functions.h"

enum { LEAST_PERCENT = 5 }; /* of its own value: a change of less is none */

struct key {
	uint16_t operation;
	uint32_t size;
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
	double *wait, *transfer, *busbw, bytes;
	size_t n, rated;
};

static int compare_keys(const struct key *x, const struct key *y)
{
	if (x->operation != y->operation)
		return x->operation < y->operation ? -1 : 1;
	return (x->size > y->size) - (x->size < y->size);
}

static int by_key(const void *a, const void *b)
{
	const struct item *x = a, *y = b;
	int order = compare_keys(&x->key, &y->key);

	return order ? order : (x->row > y->row) - (x->row < y->row);
}

/* Collectives in steps. */
static int list_of(const struct pp_dataset *d, struct items *ret_items)
{
	struct item *item = calloc(d->collectives + 1, sizeof(*item));
	size_t n = 0;

	if (!item)
		return -ENOMEM;
	for (size_t i = 0; i < d->collectives; i++) {
		const struct pp_row_collective *c = &d->collective[i];
		const struct pp_row_communicator *of;

		if (c->message || c->step == INT64_MIN || c->ranks < 1)
			continue;
		of = pp_dataset_communicator(d, c->communicator);
		item[n++] = (struct item){{c->operation, of && of->size ? of->size : (uint32_t)c->ranks}, i};
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
	free(s->busbw);
	free(s->transfer);
	free(s->wait);
}

static int series_of(const struct pp_dataset *d, const struct item *item, size_t n, struct series *ret_series)
{
	struct series s = {calloc(n + 1, sizeof(double)), calloc(n + 1, sizeof(double)), calloc(n + 1, sizeof(double)), 0, n, 0};

	if (!s.wait || !s.transfer || !s.busbw) {
		series_release(&s);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++) {
		const struct pp_row_collective *c = &d->collective[item[i].row];

		s.wait[i] = (double)c->wait_ns / c->ranks;
		s.transfer[i] = (double)c->transfer_ns / c->ranks;
		s.bytes += (double)c->bytes / (double)n;
		if (c->busbw > 0 && c->busbw < 1e18) /* a foreign value may be no number */
			s.busbw[s.rated++] = c->busbw;
	}
	*ret_series = s;
	return 0;
}

/* A change of less than `step` ns of a step's time is none, as elsewhere. */
static int compare(const double *a, size_t na, const double *b, size_t nb, double least, size_t family, struct pp_noise *ret)
{
	struct pp_noise_series x = {a, na}, y = {b, nb};

	return pp_noise_compare(x, y, fmax(least, pp_noise_mean(x) * LEAST_PERCENT / 100), family, ret);
}

static int fill(struct pp_diff *d, const struct key *key, const struct series *a, const struct series *b)
{
	struct pp_diff_operation *o = &d->operation[d->operations];
	const struct pp_diff_run *from = &d->run[0], *to = &d->run[d->runs - 1];
	size_t family = 3 * PP_DIFF_OPERATIONS_MOST;
	double most, least;
	int rc;

	snprintf(o->name, sizeof(o->name), "%s", pp_operation_name(key->operation));
	o->size = key->size;
	o->count_a = from->d.steps ? (double)a->n / (double)from->d.steps : 0;
	o->count_b = to->d.steps ? (double)b->n / (double)to->d.steps : 0;
	o->bytes_a = a->bytes;
	o->bytes_b = b->bytes;
	most = fmax(o->count_a, o->count_b);
	least = most > 0 ? fmax(pp_diff_last(d)->cores, d->least) / most : 0;
	rc = compare(a->wait, a->n, b->wait, b->n, least, family, &o->wait);
	if (!rc)
		rc = compare(a->transfer, a->n, b->transfer, b->n, least, family, &o->transfer);
	if (!rc)
		rc = compare(a->busbw, a->rated, b->busbw, b->rated, 0, family, &o->busbw);
	o->weight = fabs(o->wait.b * o->count_b - o->wait.a * o->count_a) +
	            fabs(o->transfer.b * o->count_b - o->transfer.a * o->count_a);
	d->operations += !rc;
	return rc;
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
		rc = fill(d, key, &x, &y);
	series_release(&x);
	series_release(&y);
	return rc;
}

static int by_weight(const void *a, const void *b)
{
	const struct pp_diff_operation *x = a, *y = b;
	int changed = pp_diff_operation_changed(y) - pp_diff_operation_changed(x), order;

	if (changed)
		return changed;
	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	order = strcmp(x->name, y->name);
	return order ? order : (x->size > y->size) - (x->size < y->size);
}

int pp_diff_operations(struct pp_diff *d)
{
	struct items list[2] = {{NULL, 0}, {NULL, 0}};
	size_t at[2] = {0, 0};
	int rc = list_of(&d->run[0].d, &list[0]);

	if (!rc)
		rc = list_of(&d->run[d->runs - 1].d, &list[1]);
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
