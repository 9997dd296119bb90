/* Orders of tables that are the same whatever numbers the names have, and folds of equal rows into one. In: tables of one or of
 * many ranks. Out: the same in place. Used by aggregate/analyze, by the merge, and by writers that group rows. */
#pragma once

#include "aggregate/dataset/dataset.h"

/* One row an id. */
void pp_communicators_fold(struct pp_dataset *d);
/* Two workers' rows of one operator? */
int pp_op_is_same(const struct pp_row_op *a, const struct pp_row_op *b);
/* Length of the name's part that tells its kind: up to the first ':', '.' or '#', "MPI" of a call of MPI; 0: it has none. */
size_t pp_op_type(const char *name, size_t length);
/* Names that got their category by default, by time. */
void pp_defaults_sort(struct pp_dataset *d);
void pp_c10d_add(struct pp_c10d_count *to, const struct pp_c10d_count *from);
