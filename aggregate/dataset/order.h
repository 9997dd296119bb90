/* Sorts tables independently of names' ids, and folds equal rows into one. In: tables of one or of many ranks. Out: the same in
 * place. Used by aggregate/analyze, by the merge, and by writers that group rows. */
#pragma once

#include "aggregate/dataset/dataset.h"

/* One row per id. */
void pp_communicators_fold(struct pp_dataset *d);
/* Two workers' rows of one operator? */
int pp_op_is_same(const struct pp_row_op *a, const struct pp_row_op *b);
/* Length of the part of a name that is its kind: up to the first ':', '.' or '#', "MPI" of a call of MPI; 0: it has none. */
size_t pp_op_type(const char *name, size_t length);
/* Where the type begins in a TensorFlow name "scope/op:Type"; 0: the name has another form. */
size_t pp_op_tensorflow_type(const char *name, size_t length);
void pp_c10d_add(struct pp_c10d_count *to, const struct pp_c10d_count *from);
