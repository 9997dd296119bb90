/* /op and /input of pod.h5. Called by hdf5_tables.c. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "aggregate/dataset/order.h"
#include "aggregate/write/h5/hdf5_tables.h"
#include "core/ring/intern.h"

#define MEMBER(h, variable, n, array, member)                                                                                      \
	pp_h5_put_member(h, variable, n, (array) ? &(array)->member : NULL, sizeof(*(array)), sizeof((array)->member))

enum { TYPE = 64 };

struct table { /* operators: their first rows */
	const struct pp_dataset *d;
	size_t *first;
	int64_t *index; /* [the larger of rows and operators] 0 1 2 .. */
	int64_t *op_of; /* [rows] */
	size_t ops;
	char *type; /* [TYPE] of the one that was asked for last */
};

static const struct pp_op *op_at(const void *context, size_t i)
{
	const struct table *t = context;

	return &t->d->op[t->first[i]];
}

static const char *name_text(const void *context, size_t i)
{
	return pp_intern_text(((const struct table *)context)->d->names, op_at(context, i)->name, NULL);
}

static const char *type_text(const void *context, size_t i)
{
	const struct table *t = context;
	size_t length;
	const char *name = pp_intern_text(t->d->names, op_at(context, i)->name, &length);

	length = pp_op_type(name, length);
	snprintf(t->type, TYPE, "%.*s", length < TYPE ? (int)length : TYPE - 1, name);
	return t->type;
}

static const char *category_text(const void *context, size_t i)
{
	return pp_category_name(op_at(context, i)->category);
}

static const char *source_text(const void *context, size_t i)
{
	static const char *const name[] = {[PP_SOURCE_API] = "API",
	                                   [PP_SOURCE_NVTX] = "NVTX",
	                                   [PP_SOURCE_MPI] = "MPI",
	                                   [PP_SOURCE_ITT] = "ITT",
	                                   [PP_SOURCE_SHIM] = "shim"};
	uint8_t source = op_at(context, i)->source;

	return source < sizeof(name) / sizeof(name[0]) ? name[source] : "";
}

static int make_table(struct table *t)
{
	const struct pp_dataset *d = t->d;

	t->first = malloc((d->ops + 1) * sizeof(*t->first));
	t->index = malloc((d->ops + 1) * sizeof(*t->index));
	t->op_of = malloc((d->ops + 1) * sizeof(*t->op_of));
	if (!t->first || !t->index || !t->op_of)
		return -ENOMEM;
	for (size_t i = 0; i < d->ops; i++) {
		if (!i || !pp_op_is_same(&d->op[i], &d->op[i - 1]))
			t->first[t->ops++] = i;
		t->index[i] = (int64_t)i;
		t->op_of[i] = (int64_t)t->ops - 1;
	}
	return 0;
}

static void put_rows(struct pp_h5 *h, const struct table *t)
{
	const struct pp_op *op = t->d->op;
	size_t n = t->d->ops;

	pp_h5_put(h, "row", t->index);
	pp_h5_put(h, "row_op", t->op_of);
	MEMBER(h, "worker", n, op, worker);
	MEMBER(h, "calls", n, op, calls);
	MEMBER(h, "total_ns", n, op, total_ns);
	MEMBER(h, "self_ns", n, op, self_ns);
	MEMBER(h, "max_ns", n, op, max_ns);
	MEMBER(h, "steps", n, op, steps);
}

static void write_op(struct pp_h5 *h, const struct pp_dataset *d)
{
	char type[TYPE];
	struct table t = {.d = d, .type = type};

	if (make_table(&t) < 0) {
		if (!h->code)
			h->code = pp_err_set(h->err, -ENOMEM, "no memory for the operators");
		goto free_table;
	}
	pp_h5_group_begin(h, "op");
	pp_h5_dim(h, "op", t.ops);
	pp_h5_dim(h, "row", d->ops);
	pp_h5_put(h, "op", t.index);
	pp_h5_put_texts(h, "name", t.ops, name_text, &t);
	pp_h5_put_texts(h, "type", t.ops, type_text, &t);
	pp_h5_put_texts(h, "category", t.ops, category_text, &t);
	pp_h5_put_texts(h, "source", t.ops, source_text, &t);
	put_rows(h, &t);
	pp_h5_put(h, "cut", &d->ops_cut);
	pp_h5_put(h, "rest", &d->ops_rest);
	pp_h5_put(h, "rest_ns", &d->ops_rest_ns);
	pp_h5_group_end(h);
free_table:
	free(t.first);
	free(t.index);
	free(t.op_of);
}

int pp_h5_has_input(const struct pp_dataset *d)
{
	for (size_t w = 0; w < d->workers; w++)
		if (d->worker[w].loader_samples)
			return 1;
	return 0;
}

static void write_input(struct pp_h5 *h, const struct pp_dataset *d)
{
	pp_h5_group_begin(h, "input");
	pp_h5_dim(h, "worker", d->workers);
	MEMBER(h, "worker", d->workers, d->worker, rank);
	MEMBER(h, "loader_samples", d->workers, d->worker, loader_samples);
	MEMBER(h, "loader_busy", d->workers, d->worker, loader_busy);
	pp_h5_group_end(h);
}

void pp_h5_write_op(struct pp_h5 *h, const struct pp_dataset *d)
{
	if (d->ops)
		write_op(h, d);
	if (pp_h5_has_input(d))
		write_input(h, d);
}
