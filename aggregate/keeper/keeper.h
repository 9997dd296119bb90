/* The keeper of a spool: one process a host that drains the rings of its ranks and writes the session.
 * In: a spool directory. Out: files under the log directory, and the message rank 0 prints. Called by launchers. */
#pragma once

#include <stddef.h>

#include "aggregate/session/session.h"
#include "core/base/err.h"

/* The whole life of `podprof keeper --spool DIR`, in a process of its own. 0 also where another keeper holds the spool. */
int pp_keeper_main(const char *spool, struct pp_err *err);

/* One session out of the rings of a job that no keeper finished: of one spool, or of the spools of its hosts. They are left as they
 * are, but for the file PP_SALVAGED in each, which names the session. -EBUSY: a live keeper holds one; -EINVAL: of two jobs. What
 * `options` leaves empty (job, command, options, steps) is taken from the first one's <spool>/options. */
int pp_salvage(char *const *spool, size_t spools, const struct pp_session_options *options, char *message, size_t message_size,
               struct pp_err *err);

#define PP_SALVAGED "salvaged"
