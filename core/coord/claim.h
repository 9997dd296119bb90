/* Who is the rank: a tree of processes inherits a rank's variables, the one with evidence takes the lock.
 * In: environment, what MPI said. Out: rank numbers and the lock, which the kernel passes on when its holder ends or execs. */
#ifndef PP_COORD_CLAIM_H
#define PP_COORD_CLAIM_H

#include <stdint.h>

#include "core/base/err.h"

struct pp_claim {
	int32_t rank, size;             /* 0 of 1 where no launcher says otherwise */
	int32_t local_rank, local_size; /* -1: unknown */
};

/* From the launcher's variables; rank and size of MPI (-1: unknown) win over them, but for a world of one among many. */
void pp_claim_read(struct pp_claim *c, int rank, int size);
/* This process was spawned by MPI, and the spool is that of the world that did it: rank R there is somebody else. */
int pp_claim_is_spawned(const char *spool);
/* The rank that a process group says, where it is not what the launcher's variables say. `own`: the process was started by the
 * program itself, so the variables are its parent's. 0: the launcher's number stays, since the group is only a part of its
 * job. */
int pp_claim_is_group(const struct pp_claim *c, int rank, int size, int own);
/* Lock <spool>/rank-R.claim. Descriptor (kept open for life), -EBUSY: somebody else is the rank, -errno: the sentence says why. */
int pp_claim_take(const struct pp_claim *c, const char *spool, struct pp_err *err);
/* The same for a rank of a process group, which may find the process that started it in the first one's place. */
int pp_claim_take_group(const struct pp_claim *c, const char *spool, struct pp_err *err);

#endif
