/* Reports on the job's stderr why it records nothing. While there is no ring the keeper holds a copy of the stderr of the
 * process that started it, until the first ring. In: the spool, /proc. Out: a line, `unrecorded` of the control page. */
#pragma once

#include "aggregate/spool/view.h"
#include "core/ring/ring_file.h"

/* Takes over fd, the job's stderr. Before pp_keeper_main(). */
void pp_unrecorded_hold(int fd);
/* At each scan of the spool. alone: no other host is part of the job. */
void pp_unrecorded_check(const struct pp_spool_view *v, struct pp_control *c, int alone);
