/* An HDF5 file that netCDF-4 readers open: groups with dimension scales, columns, attributes. In: columns in memory.
 * Out: pod.h5. Errors of HDF5 become the sentence of pp_err; after the first one, every call does nothing. Called by hdf5*.c. */
#pragma once

#include <hdf5.h>

#include "aggregate/dataset/hdf5_layout.h"
#include "aggregate/read/h5/file_memory.h"
#include "aggregate/write/h5/hdf5_chunks.h"
#include "core/base/err.h"

enum { PP_H5_DIMS = 8 };

struct pp_h5_user;

struct pp_h5_dim {
	const char *name;
	hsize_t size;
	hid_t scale; /* 0 until its dataset stands; in memory 1 */
	hobj_ref_t ref;
	struct pp_h5_user *user; /* columns of this dimension */
	size_t users, users_room;
};

struct pp_h5 {
	struct pp_h5_memory *memory; /* NULL: into a file */
	hid_t file, group;
	hid_t transfer;              /* with a small buffer: HDF5's of 1 MiB is cleared for each column of texts */
	hid_t column, in_group;      /* properties */
	hid_t text, texts;           /* of attributes, whose size changes; of columns */
	hid_t scalar, scales, users; /* of attributes; 0: not yet made */
	const char *group_name;
	struct pp_h5_dim dim[PP_H5_DIMS];
	size_t dims;
	struct pp_h5_chunks *later; /* large columns whose values are not yet written */
	size_t laters, laters_room;
	int code; /* first error */
	struct pp_err *err;
};

/* A new file, or an older one emptied. 0, or -errno with the sentence in `err`: then there is nothing to close. */
int pp_h5_create(struct pp_h5 *h, const char *path, struct pp_err *err);
/* Puts everything into `memory` instead, without a call of HDF5: what file.h has of it is what it would have of the file. */
void pp_h5_create_in(struct pp_h5 *h, struct pp_h5_memory *memory, struct pp_err *err);
/* Closes; the first error of all calls since pp_h5_create(). */
int pp_h5_close(struct pp_h5 *h);

/* Attributes of the group that is open, else of /. */
void pp_h5_attribute_text(struct pp_h5 *h, const char *name, const char *text);
void pp_h5_attribute_int(struct pp_h5 *h, const char *name, int64_t value);
void pp_h5_attribute_double(struct pp_h5 *h, const char *name, double value);
/* hdf5_previous.c: the newest session of `logdir` whose ranks an elastic launcher has started again as `job`; "" none. */
void pp_h5_previous(const char *logdir, const char *job, char *ret_session, size_t size);

/* Declare dimensions first, then columns: those named like a dimension before the others that have it. Either may be repeated:
 * tables of one group share them. */
int pp_h5_has_group(const struct pp_h5 *h, const char *name);
void pp_h5_group_begin(struct pp_h5 *h, const char *name);
void pp_h5_dim(struct pp_h5 *h, const char *name, size_t size);
void pp_h5_group_end(struct pp_h5 *h);
/* hdf5_memory.c: a column in memory. dim, size: its dimensions. Takes `values`, from malloc(). */
void pp_h5_keep(struct pp_h5 *h, const struct pp_h5_row *row, const size_t *dim, const hsize_t *size, int rank, void *values);
/* `n` numbers of a type with 64 bits each. NULL: no memory. */
void *pp_h5_widen(enum pp_h5_type type, size_t n, const void *data);
/* Columns whose values are made when they are asked for. */
void pp_h5_keep_by(struct pp_h5 *h, const struct pp_h5_row *row, const size_t *dim, const hsize_t *size, int rank,
                   const struct pp_h5_fill *fill);
void pp_h5_keep_texts(struct pp_h5 *h, const struct pp_h5_row *row, const size_t *dim, const hsize_t *size, int rank,
                      const char *(*get)(const void *context, size_t i), const void *context);
/* A text with each byte that is no UTF-8 replaced: readers refuse those. NULL: no memory. To be freed. */
char *pp_h5_utf8(const char *text);
/* `data` is the array of the row's type, in C order. A table without rows is left out. */
void pp_h5_put_row(struct pp_h5 *h, const struct pp_h5_row *row, const void *data);
/* The same of values that are made as they are written: those of a large column in pp_h5_put_end(), in memory when they are asked
 * for. */
void pp_h5_put_row_by(struct pp_h5 *h, const struct pp_h5_row *row, const struct pp_h5_fill *fill);
/* Writes what is left of a table's columns, so many rows at a time; the contexts of their values are needed until then. */
void pp_h5_put_end(struct pp_h5 *h, size_t rows_at_once);
/* Texts of a column: get(context, i) for i in 0..n-1; in memory when they are asked for. */
void pp_h5_put_row_texts(struct pp_h5 *h, const struct pp_h5_row *row, size_t n, const char *(*get)(const void *context, size_t i),
                         const void *context);
