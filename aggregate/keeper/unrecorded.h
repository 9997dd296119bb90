/* A job that records nothing: why, and one line on its stderr. While there is no ring the keeper holds a copy of the stderr of
 * the process that started it; it is closed with the first ring.
 * In: the spool, /proc. Out: a line, `unrecorded` of the control page. */
#pragma once

#include "aggregate/keeper/spool.h"
#include "core/ring/ring_file.h"

/* fd: the job's stderr, ours from now on. Before pp_keeper_main(). */
void pp_unrecorded_hold(int fd);
/* At each scan of the spool. alone: no other host is part of the job. */
void pp_unrecorded_look(const struct pp_spool_view *v, struct pp_control *c, int alone);
