/* Why a job hangs: which operations ranks wait in, who is missing in them, and which ranks no other rank's wait explains.
 * In: the list of ranks (live.h), of all hosts. Out: struct pp_hang, which points into that list. Pure. Called by `podprof hang`.
 *
 * A rank is stuck if it has been in one MPI call for at least `after_ns` and that call waits for others. It waits for an
 * operation (a collective that not all members have begun) or for single ranks (a message). From there the waits are followed:
 * to ranks that do not wait (causes, unless they move), or round in a circle (a deadlock). */
#pragma once

#include "aggregate/keeper/hang_graph.h"

/* `after_ns`: how long a rank must stand still to be stuck; `list` must outlive *ret. -ENOMEM; -EINVAL: no rank has a valid
 * number. */
int pp_hang_find(const struct pp_live_rank *list, long count, int64_t after_ns, struct pp_hang *ret);
/* Frees what pp_hang_find() made, also where it failed. */
void pp_hang_release(struct pp_hang *h);
/* Is nothing known that its ranks could wait for? They stand still in the application: it may
 * compute, or wait for what podprof does not see. */
int pp_hang_is_unseen(const struct pp_hang *h);
/* Name of its communicator, or NULL. */
const char *pp_live_comm_name(const struct pp_live_rank *r);

/* Do two ranks of one collective call the same, with the same root? */
int pp_hang_agree(const struct pp_live_rank *a, const struct pp_live_rank *b);
