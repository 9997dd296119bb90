/* Signals that a write of ours may raise are the application's: held back around it, and taken away where it raised one.
 * Called by line.c, core/ring/chunk_pool.c and mpi/coord_part.c; any thread. */
#pragma once

#include <signal.h>

struct pp_hold {
	sigset_t had, waiting;
};

void pp_hold_begin(struct pp_hold *hold);
/* error: errno of what was done in between, 0 where it went well. errno is kept. */
void pp_hold_end(const struct pp_hold *hold, int error);
