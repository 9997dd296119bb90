/* The keeper of a spool: one process per job and host that drains the rings of its ranks and writes the session. In: a spool
 * directory. Out: files under the log directory, and the message rank 0 prints. Called by launchers. */
#pragma once

#include <stddef.h>

#include "aggregate/session/session.h"
#include "core/base/err.h"

/* The whole life of `podprof keeper --spool DIR`, in a process of its own. 0 also where another keeper holds the spool. */
int pp_keeper_main(const char *spool, struct pp_err *err);

/* Writes one session from the rings of a job that no keeper finished: of one spool, or of the spools of its hosts. The spools
 * stay as they are, but for the file PP_SPOOL_SALVAGED in each, which names the session. Spools of other jobs than the first one's are
 * left out: they then stand last in `spool`, and the message names them. -EBUSY: a live keeper holds one. The first readable
 * <spool>/options fills what `options` leaves empty (job, command, options, steps). */
int pp_salvage(char **spool, size_t spools, const struct pp_session_options *options, char *message, size_t message_size,
               size_t *ret_left_out, struct pp_err *err);
