/* Columns in memory in the form in which pod.h5 would be read back; see hdf5_file.h. Called by hdf5_file.c. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/write/h5/hdf5_file.h"

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

static enum pp_pod_file_kind kind_of(enum pp_h5_type type)
{
	return type == PP_H5_STR                        ? PP_POD_FILE_TEXT
	       : type == PP_H5_F64                      ? PP_POD_FILE_REAL
	       : type == PP_H5_U32 || type == PP_H5_U64 ? PP_POD_FILE_UINT
	                                                : PP_POD_FILE_INT;
}

static void add(struct pp_h5 *h, const struct pp_pod_file_column *c)
{
	int code = c->data.any ? pp_pod_memory_column(h->memory, c) : -ENOMEM;

	if (code && !h->code)
		h->code = pp_err_set(h->err, code, "no memory for column '%s'", c->name);
}

/* The file has zeros under a dimension's name where the dimension has no coordinate. */
static void keep_bare_scale(struct pp_h5 *h, struct pp_h5_dim *dim)
{
	struct pp_pod_file_column c = {.kind = PP_POD_FILE_REAL, .dims = 1, .n = dim->size, .width = sizeof(double)};

	snprintf(c.name, sizeof(c.name), "%s", dim->name);
	snprintf(c.dim[0], sizeof(c.dim[0]), "%s", dim->name);
	c.extent[0] = dim->size;
	c.data.real = calloc(dim->size + 1, sizeof(*c.data.real));
	add(h, &c);
	dim->scale = 1; /* NOLINT(clang-analyzer-unix.Malloc): the memory has the values, also where add() failed */
}

void pp_h5_keep(struct pp_h5 *h, const struct pp_h5_row *row, const size_t *dim, const hsize_t *size, int rank, void *values)
{
	struct pp_pod_file_column c = {.kind = kind_of(row->type), .dims = (size_t)rank, .n = 1, .width = sizeof(int64_t)};

	snprintf(c.name, sizeof(c.name), "%s", row->variable);
	snprintf(c.unit, sizeof(c.unit), "%s", row->unit);
	snprintf(c.what, sizeof(c.what), "%s", row->what);
	for (int i = 0; i < rank; i++) {
		c.extent[i] = size[i];
		c.n *= size[i];
		snprintf(c.dim[i], sizeof(c.dim[i]), "%s", h->dim[dim[i]].name);
	}
	c.data.any = values;
	add(h, &c);
	if (rank == 1 && !strcmp(row->variable, h->dim[dim[0]].name))
		h->dim[dim[0]].scale = 1;
	for (int i = 0; i < rank; i++)
		if (h->dim[dim[i]].scale <= 0)
			keep_bare_scale(h, &h->dim[dim[i]]);
}
