/* Columns in memory in the form in which pod.h5 would be read back; see hdf5_file.h. Called by hdf5_file.c. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/write/h5/hdf5_file.h"
#include "core/base/huge.h"
#include "core/base/utf8.h"

char *pp_h5_utf8(const char *text)
{
	size_t length = strlen(text);
	char *good;

	if (pp_utf8_good(text, length))
		return strdup(text);
	good = malloc(pp_utf8_repair(NULL, text, length) + 1);
	if (good)
		good[pp_utf8_repair(good, text, length)] = '\0';
	return good;
}

void *pp_h5_widen(enum pp_h5_type type, size_t n, const void *data)
{
	int64_t *wide = malloc((n + 1) * sizeof(*wide));

	for (size_t i = 0; wide && i < n; i++)
		switch (type) {
		case PP_H5_I8:
			/* NOLINTNEXTLINE(bugprone-signed-char-misuse,cert-str34-c): a number, not a character */
			wide[i] = ((const int8_t *)data)[i];
			break;
		case PP_H5_I32:
			wide[i] = ((const int32_t *)data)[i];
			break;
		case PP_H5_U32:
			wide[i] = ((const uint32_t *)data)[i];
			break;
		default: /* of 64 bits, doubles too */
			memcpy(&wide[i], (const char *)data + i * sizeof(*wide), sizeof(*wide));
		}
	return wide;
}

static enum pp_h5_file_kind kind_of(enum pp_h5_type type)
{
	return type == PP_H5_STR                        ? PP_H5_FILE_TEXT
	       : type == PP_H5_F64                      ? PP_H5_FILE_REAL
	       : type == PP_H5_U32 || type == PP_H5_U64 ? PP_H5_FILE_UINT
	                                                : PP_H5_FILE_INT;
}

static void add(struct pp_h5 *h, const struct pp_h5_memory_column *c)
{
	int code = c->make || c->column.data.any ? pp_h5_memory_column(h->memory, c) : -ENOMEM;

	if (code && !h->code)
		h->code = pp_err_set(h->err, code, "no memory for column '%s'", c->column.name);
}

/* The file has zeros under a dimension's name where the dimension has no coordinate. */
static void keep_bare_scale(struct pp_h5 *h, struct pp_h5_dim *dim)
{
	struct pp_h5_memory_column c = {.column = {.kind = PP_H5_FILE_REAL, .dims = 1, .n = dim->size, .width = sizeof(double)}};

	snprintf(c.column.name, sizeof(c.column.name), "%s", dim->name);
	snprintf(c.column.dim[0], sizeof(c.column.dim[0]), "%s", dim->name);
	c.column.extent[0] = dim->size;
	c.column.data.real = calloc(dim->size + 1, sizeof(*c.column.data.real));
	add(h, &c);
	dim->scale = 1; /* NOLINT(clang-analyzer-unix.Malloc): the memory has the values, also where add() failed */
}

/* All but its values. */
static struct pp_h5_memory_column describe(const struct pp_h5 *h, const struct pp_h5_row *row, const size_t *dim,
                                           const hsize_t *size, int rank)
{
	struct pp_h5_memory_column k = {
	        .column = {.kind = kind_of(row->type), .dims = (size_t)rank, .n = 1, .width = sizeof(int64_t)}};
	struct pp_h5_file_column *c = &k.column;

	snprintf(c->name, sizeof(c->name), "%s", row->variable);
	snprintf(c->unit, sizeof(c->unit), "%s", row->unit);
	snprintf(c->what, sizeof(c->what), "%s", row->what);
	c->is_maybe = row->is_maybe;
	c->unknown = row->unknown;
	for (int i = 0; i < rank; i++) {
		c->extent[i] = size[i];
		c->n *= size[i];
		snprintf(c->dim[i], sizeof(c->dim[i]), "%s", h->dim[dim[i]].name);
	}
	return k;
}

static void keep(struct pp_h5 *h, const struct pp_h5_memory_column *c, const size_t *dim)
{
	const size_t dims = c->column.dims;

	add(h, c);
	if (dims == 1 && !strcmp(c->column.name, h->dim[dim[0]].name))
		h->dim[dim[0]].scale = 1;
	for (size_t i = 0; i < dims; i++)
		if (h->dim[dim[i]].scale <= 0)
			keep_bare_scale(h, &h->dim[dim[i]]);
}

void pp_h5_keep(struct pp_h5 *h, const struct pp_h5_row *row, const size_t *dim, const hsize_t *size, int rank, void *values)
{
	struct pp_h5_memory_column c = describe(h, row, dim, size, rank);

	c.column.data.any = values;
	keep(h, &c, dim);
}

struct numbers {
	enum pp_h5_type type;
	size_t value; /* bytes */
	struct pp_h5_fill fill;
};

static int make_numbers(const void *context, struct pp_h5_file_column *c)
{
	const struct numbers *k = context;
	void *data = pp_huge_calloc(c->n + 1, k->value);

	if (data)
		k->fill.put(k->fill.context, 0, c->dims ? c->extent[0] : 1, data);
	c->data.any = data && k->value < sizeof(int64_t) ? pp_h5_widen(k->type, c->n, data) : data;
	if (c->data.any != data)
		free(data);
	return c->data.any ? 0 : -ENOMEM;
}

struct texts {
	const char *(*get)(const void *context, size_t i);
	const void *context;
};

static int make_texts(const void *context, struct pp_h5_file_column *c)
{
	const struct texts *k = context;

	c->data.text = calloc(c->n + 1, sizeof(*c->data.text));
	for (size_t i = 0; c->data.text && i < c->n; i++)
		if (!(c->data.text[i] = pp_h5_utf8(k->get(k->context, i))))
			return -ENOMEM;
	return c->data.text ? 0 : -ENOMEM;
}

/* A copy of what makes the values, owned by the memory. */
static void keep_made(struct pp_h5 *h, struct pp_h5_memory_column *c, const size_t *dim, const void *how, size_t size)
{
	void *context = malloc(size);

	if (context)
		memcpy(context, how, size);
	c->context = context;
	if (context && !pp_h5_memory_own(h->memory, context))
		keep(h, c, dim);
	else if (!h->code)
		h->code = pp_err_set(h->err, -ENOMEM, "no memory for column '%s'", c->column.name);
}

void pp_h5_keep_by(struct pp_h5 *h, const struct pp_h5_row *row, const size_t *dim, const hsize_t *size, int rank,
                   const struct pp_h5_fill *fill)
{
	static const size_t value[] = {[PP_H5_I8] = 1, [PP_H5_I32] = 4, [PP_H5_U32] = 4};
	struct pp_h5_memory_column c = describe(h, row, dim, size, rank);
	const size_t bytes = row->type < sizeof(value) / sizeof(value[0]) ? value[row->type] : 0;
	const struct numbers how = {row->type, bytes ? bytes : sizeof(int64_t), *fill};

	c.make = make_numbers;
	keep_made(h, &c, dim, &how, sizeof(how));
}

void pp_h5_keep_texts(struct pp_h5 *h, const struct pp_h5_row *row, const size_t *dim, const hsize_t *size, int rank,
                      const char *(*get)(const void *context, size_t i), const void *context)
{
	struct pp_h5_memory_column c = describe(h, row, dim, size, rank);
	const struct texts how = {get, context};

	c.make = make_texts;
	keep_made(h, &c, dim, &how, sizeof(how));
}
