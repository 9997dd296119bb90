/* Fills /message_size: size of operations against their bandwidth. Called by tools.c. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "aggregate/tools/tools.h"
#include "core/base/wrap.h"

struct timed { /* an operation whose bandwidth is known */
	uint16_t operation;
	int32_t ranks;
	uint64_t from_bytes, bytes;
	int64_t duration_ns;
	double busbw;
};

static int compare(const void *a, const void *b)
{
	const struct timed *x = a, *y = b;

	if (x->operation != y->operation)
		return x->operation < y->operation ? -1 : 1;
	if (x->ranks != y->ranks)
		return x->ranks < y->ranks ? -1 : 1;
	if (x->from_bytes != y->from_bytes)
		return x->from_bytes < y->from_bytes ? -1 : 1;
	return (x->busbw > y->busbw) - (x->busbw < y->busbw);
}

static uint64_t power_below(uint64_t bytes)
{
	uint64_t power = 1;

	while (bytes >>= 1)
		power <<= 1;
	return power;
}

/* busbw is 0 where a rank, an end or the clock is missing; a duration below the clock's error says nothing. */
static int is_timed(const struct pp_row_collective *c)
{
	return c->bytes && c->bound_ns != INT64_MAX && c->end_ns > c->last_ns && c->busbw > 0 && isfinite(c->busbw) &&
	       pp_wrap_minus(c->end_ns, c->last_ns) > c->bound_ns;
}

static int same(const struct timed *a, const struct timed *b)
{
	return a->operation == b->operation && a->ranks == b->ranks && a->from_bytes == b->from_bytes;
}

static int add(const struct timed *t, size_t n, struct pp_table *to)
{
	struct pp_row_message_size *row = pp_table_add(to);

	if (!row)
		return -ENOMEM;
	row->operation = t->operation;
	row->ranks = t->ranks;
	row->from_bytes = t->from_bytes;
	row->occurrences = n;
	for (size_t i = 0; i < n; i++) {
		row->bytes += t[i].bytes;
		row->duration_ns = pp_wrap_plus(row->duration_ns, t[i].duration_ns);
	}
	row->busbw_least = t[0].busbw;
	row->busbw_median = t[(n - 1) / 2].busbw / 2 + t[n / 2].busbw / 2;
	row->busbw_most = t[n - 1].busbw;
	return 0;
}

int pp_tool_message_size(const struct pp_dataset *in, struct pp_table *tables, struct pp_err *err)
{
	struct timed *t = malloc((in->collectives + 1) * sizeof(*t));
	size_t n = 0;
	int rc = t ? 0 : -ENOMEM;

	for (size_t i = 0; i < in->collectives && t; i++) {
		const struct pp_row_collective *c = &in->collective[i];

		if (is_timed(c))
			t[n++] = (struct timed){
			        c->operation, c->ranks, power_below(c->bytes), c->bytes, pp_wrap_minus(c->end_ns, c->last_ns),
			        c->busbw};
	}
	if (n)
		qsort(t, n, sizeof(*t), compare);
	for (size_t i = 0, end; i < n && !rc; i = end) {
		for (end = i + 1; end < n && same(&t[i], &t[end]); end++)
			;
		rc = add(&t[i], end - i, &tables[PP_TABLE_message_size]);
	}
	free(t);
	return rc ? pp_err_set(err, rc, "no memory for the sizes of messages") : 0;
}
