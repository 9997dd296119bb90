/* Operations of NCCL that not all ranks of a communicator have enqueued, or that ranks call differently. In: the list of ranks,
 * with their communicators (live_nccl.h). Out: operations of struct pp_hang. A rank that has enqueued an operation is not seen to
 * wait for it: where it stands still, it is taken to. Pure. Called by hang.c and the text of `podprof hang`. */
#pragma once

#include "aggregate/keeper/hang_graph.h"

struct pp_hang_unfinished { /* the first operation of a communicator that not all of its ranks have called */
	size_t line, lines; /* of all its ranks, in pp_hang.line[] */
	uint64_t number;
	enum pp_hang_mismatch mismatch;
};

/* Fills line[] of `h` from its ranks. -ENOMEM. */
int pp_hang_nccl_read(struct pp_hang *h);
/* The next such operation at or behind line `*at`, which moves on; 0: there is none. */
int pp_hang_nccl_next(const struct pp_hang *h, size_t *at, struct pp_hang_unfinished *ret);
/* Has the rank of this line called operation `number`? */
int pp_hang_nccl_has_called(const struct pp_hang_line *line, uint64_t number);
/* The lists of ranks of such an operation. -ENOMEM. */
int pp_hang_nccl_fill(const struct pp_hang *h, struct pp_hang_op *op);
/* A line of a rank that called it last of all, and so says what it is; NULL: none. */
const struct pp_live_nccl *pp_hang_nccl_call(const struct pp_hang *h, const struct pp_hang_op *op);
/* How two ranks that called the same operation last differ. */
enum pp_hang_mismatch pp_hang_nccl_compare(const struct pp_live_nccl *a, const struct pp_live_nccl *b);
