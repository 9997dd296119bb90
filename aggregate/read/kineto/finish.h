/* Parts of the end of reading. In: a kineto_store. Out: a pp_rank. Internal to this room. */
#pragma once

#include "aggregate/read/kineto/reader.h"

/* Sets op and host_thread of device spans, done of collectives, and op of allocations, which are then ordered by track.
 * track[i]: of thread i; threads of the host are in the order of tracks. 0, or -ENOMEM. */
int pp_kineto_operators(struct kineto_store *s, struct pp_rank *rank, const uint32_t *track);
/* Sets annotation and comm of the rank, whose main thread is known. 0, or -ENOMEM. */
int pp_kineto_collectives(struct kineto_store *s, struct pp_rank *rank);
