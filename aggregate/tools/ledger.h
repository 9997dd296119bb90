/* Index of the ledger: the operation of each row, and each rank's rows in order of their arrivals. In: a finished dataset, also a
 * damaged one. Out: indices for tools that walk from operation to operation. One thread. Errors: 0 or -errno. */
#pragma once

#include "aggregate/dataset/dataset.h"

#define PP_LEDGER_NONE UINT32_MAX

struct pp_ledger {
	const struct pp_dataset *d;
	uint32_t *operation; /* [arrivals]: index of its row in d->collective; NONE: of no operation, or of a rank without row */
	uint32_t *at;        /* [arrivals]: place in `list`; undefined where operation is NONE */
	uint32_t *list;      /* rows of the first worker in order of arrival, then of the second .. */
	int is_dense;        /* ranks are the indices of their workers */
	size_t *first;       /* [workers + 1]: where in `list` a worker's rows begin */
};

struct pp_ledger_key {
	int64_t ns;
	uint32_t row, other; /* other: the caller's */
};

/* -ENOMEM, -EOVERFLOW: more rows than an index holds. */
int pp_ledger_init(struct pp_ledger *l, const struct pp_dataset *d);
void pp_ledger_release(struct pp_ledger *l);
/* How many rows an operation has, from *ret_first on; for a walk over all operations with *left = arrivals at its begin. Files may
 * name rows that are not there, or rows twice: no more rows are looked at than there are. */
uint64_t pp_ledger_rows(const struct pp_dataset *d, size_t operation, uint64_t *left, uint64_t *ret_first);
/* pp_dataset_worker(), many times. */
static inline size_t pp_ledger_worker(const struct pp_ledger *l, int32_t rank)
{
	if (l->is_dense)
		return rank >= 0 && (size_t)rank < l->d->workers ? (size_t)rank : SIZE_MAX;
	return pp_dataset_worker(l->d, rank);
}
/* The rank's row in an operation; of several one of them. NONE: it has none. */
uint32_t pp_ledger_find(const struct pp_ledger *l, uint32_t operation, int32_t rank);
/* The same with a guess, a row that it may be. */
static inline uint32_t pp_ledger_row(const struct pp_ledger *l, uint32_t operation, int32_t rank, uint64_t guess)
{
	if (guess < l->d->arrivals && l->operation[guess] == operation && l->d->arrival[guess].worker == rank)
		return (uint32_t)guess;
	return pp_ledger_find(l, operation, rank);
}
/* By ns, then by row: quick where the keys are nearly in order. 0, or -ENOMEM. */
int pp_ledger_sort(struct pp_ledger_key *key, size_t n);
