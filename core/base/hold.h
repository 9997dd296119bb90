/* Blocks the signals that a write of ours may raise in the application (SIGPIPE, SIGXFSZ, SIGTTOU) and discards the one that it
 * raised. Called by line.c, core/ring/chunk_pool.c and mpi/coord_part.c; any thread. */
#pragma once

#include <signal.h>

struct pp_hold {
	sigset_t had, waiting;
};

/* On this thread, until pp_hold_end(). errno is kept. */
void pp_hold_begin(struct pp_hold *hold);
/* error: errno of the write in between, 0 after success. errno is kept. */
void pp_hold_end(const struct pp_hold *hold, int error);
