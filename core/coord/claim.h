/* Who is the rank: a tree of processes inherits a rank's variables, the one with evidence takes the lock.
 * In: environment, what MPI said. Out: rank numbers and the lock, which the kernel passes on when its holder ends or execs. */
#pragma once

#include <stdint.h>

#include "core/base/err.h"

enum pp_claim_by { /* how sure it is that a process is this rank, and not the child of one; the order counts */
	           PP_CLAIM_NOTHING = 1,  /* rank 0 of 1 since nobody says otherwise */
	           PP_CLAIM_VARIABLE = 2, /* a variable, which may be its parent's */
	           PP_CLAIM_MEMBER = 3,   /* of a process group or an MPI world of several */
};

struct pp_claim {
	int32_t rank, size;             /* 0 of 1 where no launcher says otherwise */
	int32_t local_rank, local_size; /* -1: unknown */
	enum pp_claim_by by;
	int is_local; /* the number is LOCAL_RANK: on several hosts it may be another one */
};

/* From the launcher's variables; rank and size of MPI (-1: unknown) win over them, but for a world of one among many. */
void pp_claim_read(struct pp_claim *c, int rank, int size);

enum { PP_CLAIM_ROWS = 6 };

/* The numbers that the variables have now: what a forked child has of its parent. May be called in a fork handler. */
void pp_claim_numbers(int32_t ret_rank[PP_CLAIM_ROWS]);
/* By the first variable whose number is not that of `born`: 1. No such: 0, and *c is untouched. */
int pp_claim_read_changed(struct pp_claim *c, const int32_t born[PP_CLAIM_ROWS]);
/* This process was spawned by MPI, and the spool is that of the world that did it: rank R there is somebody else. */
int pp_claim_is_spawned(const char *spool);
/* The rank that a process group says, where it is not what the launcher's variables say. `own`: the process was started by the
 * program itself, so the variables are its parent's. 0: the launcher's number stays, since the group is only a part of its
 * job. */
int pp_claim_is_group(const struct pp_claim *c, int rank, int size, int own);
/* Lock <spool>/rank-R.claim. Descriptor (kept open for life), -EBUSY: somebody else is the rank, -errno: the sentence says why.
 * A process that is surer of its number than the holder takes a place beside it (*ret_beside): the holder has started it. */
int pp_claim_take(const struct pp_claim *c, const char *spool, uint32_t *ret_beside, struct pp_err *err);
/* The holder is as sure as `by` from now on. */
void pp_claim_raise(int fd, enum pp_claim_by by);
