/* Decides which process is the rank: a tree of processes inherits a rank's variables, and the one with evidence locks the
 * claim. In: environment, MPI's rank and size. Out: rank numbers and the lock, which the kernel releases when its holder ends
 * or execs. */
#pragma once

#include <stdint.h>

#include "core/base/err.h"

enum pp_claim_by {                        /* how sure it is that a process is this rank, and not a child of it; ordered */
	           PP_CLAIM_NOTHING = 1,  /* rank 0 of 1, since no launcher says otherwise */
	           PP_CLAIM_VARIABLE = 2, /* a variable, which the process may have inherited */
	           PP_CLAIM_MEMBER = 3,   /* member of a process group or MPI world of several */
};

struct pp_claim {
	int32_t rank, size;             /* 0 of 1 where no launcher says otherwise */
	int32_t local_rank, local_size; /* -1: unknown */
	enum pp_claim_by by;
	int is_local; /* the number is LOCAL_RANK: on several hosts the rank may be another one */
};

/* Reads the launcher's variables; MPI's rank and size (-1: unknown) override them, except those of a world of one among many. */
void pp_claim_read(struct pp_claim *c, int rank, int size);

enum { PP_CLAIM_ROWS = 6 };

/* The numbers that the variables have now; later a forked child compares its own with them. May be called in a fork handler. */
void pp_claim_numbers(int32_t ret_rank[PP_CLAIM_ROWS]);
/* Reads the first variable whose number differs from that in `born`: 1. None differs: 0, and *c is unchanged. */
int pp_claim_read_changed(struct pp_claim *c, const int32_t born[PP_CLAIM_ROWS]);
/* MPI spawned this process, and the spool is that of the world that did it: rank R there is another process. */
int pp_claim_is_spawned(const char *spool);
/* Takes the rank of a process group where it differs from the launcher's. `own`: the program itself started the process, so the
 * variables are its parent's. 0: the launcher's number stays, since the group is only a part of its job. */
int pp_claim_is_group(const struct pp_claim *c, int rank, int size, int own);
/* Locks <spool>/rank-R.claim. Returns the descriptor (kept open for life), -EBUSY: another process is the rank, -errno: the
 * sentence tells why. A process that is surer of its number than the holder records beside it (*ret_beside): the holder is its
 * ancestor. */
int pp_claim_take(const struct pp_claim *c, const char *spool, uint32_t *ret_beside, struct pp_err *err);
/* Records that the holder is as sure as `by` from now on. */
void pp_claim_raise(int fd, enum pp_claim_by by);
