/* A session from the rings of a job that no keeper finished. In: its spools. Out: files under the log directory. Called by podprof
 * salvage and by Slurm's epilog. */
#pragma once

#include <stddef.h>

#include "aggregate/session/session.h"
#include "core/base/err.h"

/* Writes one session from the rings of a job that no keeper finished: of one spool, or of the spools of its hosts. The spools
 * stay as they are, but for the file PP_SPOOL_SALVAGED in each, which names the session. Spools of other jobs than the first
 * one's are left out: they then stand last in `spool`, and the message names them. -EBUSY: a live keeper holds one. The first
 * readable <spool>/options fills what `options` leaves empty (job, command, options, steps). */
int pp_salvage(char **spool, size_t spools, const struct pp_session_options *options, char *message, size_t message_size,
               size_t *ret_left_out, struct pp_err *err);
