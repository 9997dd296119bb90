/* Sorts tables independently of names' ids, and folds equal rows into one. In: tables of one or of many ranks. Out: the same in
 * place. Used by aggregate/analyze, by the merge, and by writers that group rows. */
#pragma once

#include "aggregate/dataset/dataset.h"

struct pp_operation_key { /* what makes calls of ranks one operation; of a collective the members of a message are 0 */
	uint64_t communicator;
	int32_t is_message, source, destination, tag;
	uint32_t sequence;
};

static inline struct pp_operation_key pp_operation_key_of(const struct pp_row_collective *c)
{
	return (struct pp_operation_key){c->communicator, c->message, c->source, c->destination, c->tag, c->sequence};
}

/* For sorting: < 0, 0 or > 0. */
int pp_operation_compare(const struct pp_operation_key *x, const struct pp_operation_key *y);
/* Of several mismatches of an operation the first of the enum counts. */
static inline void pp_mismatch_add(struct pp_row_collective *c, enum pp_row_mismatch mismatch)
{
	if (!c->mismatch || (int8_t)mismatch < c->mismatch)
		c->mismatch = (int8_t)mismatch;
}

/* One row per id. */
void pp_communicators_fold(struct pp_dataset *d);
/* Two workers' rows of one operator? */
int pp_op_is_same(const struct pp_row_op *a, const struct pp_row_op *b);
/* Length of the part of a name that is its kind: up to the first ':', '.' or '#', "MPI" of a call of MPI; 0: it has none. */
size_t pp_op_type(const char *name, size_t length);
/* Where the type begins in a TensorFlow name "scope/op:Type"; 0: the name has another form. */
size_t pp_op_tensorflow_type(const char *name, size_t length);
void pp_c10d_add(struct pp_c10d_count *to, const struct pp_c10d_count *from);
