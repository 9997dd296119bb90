/* Operations of XLA that communicate become calls, requests and operations on devices, as those of NCCL in a live job, so that the
 * ledger joins them across ranks: by execution (run_id), program, operation, and how often it ran in that execution; never by time
 * or order. In: what lines collected. Out: spans of kinds MPI and REQUEST, pp_rank.operation, comm. Called by readers of lines and
 * xspace.c. */
#pragma once

#include "aggregate/read/xspace/event.h"
#include "aggregate/read/xspace/state.h"

/* An event of a host or a device is the collective x->hlo[hlo - 1]; it runs on this line. */
void pp_xcollectives_take(struct pp_xread *x, const struct pp_xplane *p, const struct pp_xline *l, const struct pp_xevent *e,
                          uint32_t hlo, int64_t begin, int64_t end);
/* A range of the host is an execution, if its stats say so. */
void pp_xcollectives_run(struct pp_xread *x, const struct pp_xevent *e, int64_t begin, int64_t end);
/* Takes an event of a device's line "XLA Modules": an execution. The event itself is only counted. */
void pp_xcollectives_module(struct pp_xread *x, struct pp_xplane *p, struct pp_xline *l, const struct pp_field *event);
/* After all planes, steps and the window: makes the operations of the rank. */
void pp_xcollectives_finish(struct pp_xread *x);
