/* Finds the operators that launched what devices do. Called by finish.c. */
#pragma once

#include "aggregate/read/kineto/state.h"

/* Sets op and host_thread of device spans, done of collectives, and op of allocations, which are then ordered by track.
 * track[i]: of thread i; threads of the host are in the order of tracks. 0, or -ENOMEM. */
int pp_kineto_operators(struct kineto_store *s, struct pp_rank *rank, const uint32_t *track);
