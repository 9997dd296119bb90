/* The keeper of a spool: one process per job and host that drains the rings of its ranks and writes the session. In: a spool
 * directory. Out: files under the log directory, and the message rank 0 prints. Called by launchers. */
#pragma once

#include "aggregate/keeper/guard.h"
#include "core/base/err.h"

/* The whole life of `podprof keeper --spool DIR`, in a process of its own. 0 also where another keeper holds the spool. `death`: of
 * the keeper that it follows. */
int pp_keeper_main(const char *spool, const struct pp_death *death, struct pp_err *err);
