/* Operators: rows of pp_dataset.op. In: spans of all ranks and their steps. Out: one row a worker, name, category and source.
 * Used by dataset.c, merge_tables.c, the writers and the block. */
#ifndef PP_ANALYZE_OP_H
#define PP_ANALYZE_OP_H

#include "aggregate/analyze/join.h"

enum { PP_OPS_MOST = 4096 }; /* of a worker: those with most time of their own; the rest is counted */

/* /op */
int pp_join_ops(struct pp_join *j);
/* /input: what the framework's shim says of its data loader */
int pp_join_input(struct pp_join *j);
/* By name's text, category, source, worker: an operator's rows stand together. */
void pp_ops_sort(struct pp_dataset *d);
/* Two workers' rows of one operator? */
int pp_op_is_same(const struct pp_op *a, const struct pp_op *b);
/* Length of the name's part that tells its kind: up to the first ':', '.' or '#', "MPI" of a call of MPI; 0: it has none. */
size_t pp_op_type(const char *name, size_t length);

#endif
