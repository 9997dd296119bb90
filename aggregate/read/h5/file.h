/* Reads pod.h5. In: a path. Out: attributes, groups in the order of the file, columns, and the pp_dataset that it was written
 * from. One thread. Errors name the file and the remedy. Called by aggregate/report. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "aggregate/dataset/dataset.h"
#include "aggregate/read/h5/file_column.h"
#include "core/base/err.h"

struct pp_h5_file;
struct pp_h5_memory;

/* HDF5 can crash or hang in these on a damaged file: call them by pp_forked_read() only. -ENOENT..: cannot be
 * opened; -EINVAL: foreign, cut or of a newer podprof. */
int pp_h5_file_open(const char *path, struct pp_h5_file **ret_h5, struct pp_err *err);
/* The same over what a file would hold: no call of HDF5, no child is needed. `path` is for messages. The memory is borrowed. */
int pp_h5_file_over(const struct pp_h5_memory *memory, const char *path, struct pp_h5_file **ret_h5, struct pp_err *err);
void pp_h5_file_close(struct pp_h5_file *h5);
const char *pp_h5_file_path(const struct pp_h5_file *h5);
/* NULL: there is a file. */
const struct pp_h5_memory *pp_h5_file_memory(const struct pp_h5_file *h5);

/* Attributes of /; "" and `fallback` where there is none. The text is valid until the next call. */
const char *pp_h5_file_attribute(struct pp_h5_file *h5, const char *name);
int64_t pp_h5_file_attribute_int(struct pp_h5_file *h5, const char *name, int64_t fallback);
double pp_h5_file_attribute_real(struct pp_h5_file *h5, const char *name, double fallback);

/* Names in the order of the file; NULL past the last. `group` NULL: the groups themselves. Valid as long as the file is open. */
const char *pp_h5_file_name(struct pp_h5_file *h5, const char *group, size_t i);
int pp_h5_file_has(struct pp_h5_file *h5, const char *group, const char *variable);

/* Shape, kind and texts only (data NULL), or with all values. */
int pp_h5_file_shape(struct pp_h5_file *h5, const char *group, const char *variable, struct pp_h5_file_column *ret_column,
                     struct pp_err *err);
int pp_h5_file_read(struct pp_h5_file *h5, const char *group, const char *variable, struct pp_h5_file_column *ret_column,
                    struct pp_err *err);

/* Interned texts of the dataset; released with the file. NULL: no memory. */
struct pp_intern *pp_h5_file_names(struct pp_h5_file *h5);
