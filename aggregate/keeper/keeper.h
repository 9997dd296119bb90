/* The keeper of a spool: one process per job and host that drains the rings of its ranks and writes the session. In: a spool
 * directory. Out: files under the log directory, and the message rank 0 prints. Called by launchers. */
#pragma once

#include "core/base/err.h"

/* The whole life of `podprof keeper --spool DIR`, in a process of its own. 0 also where another keeper holds the spool. */
int pp_keeper_main(const char *spool, struct pp_err *err);
