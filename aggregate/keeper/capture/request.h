/* Captures that are asked for while the job runs: by an owner-only socket in the spool, by request files in the log directory, by
 * the keeper itself (a signal, a slow step). One at a time, the others queued. Steps to come: the ranks agree on the first one
 * through MPI, or the keeper fixes one that nobody has begun; tried again where a rank was past it. Times: cut out of what is held,
 * or, where the job records in windows only, recorded from now on.
 * In: lines of `podprof capture`. Out: a session a request, and lines back. Called by keeper.c; never blocks.
 *
 * A line is that of capture_request.h. Back come "wait TEXT\n" lines, then "done\n" or "failed\n" and a text to its end. */
#pragma once

#include "aggregate/keeper/capture/request_state.h"

/* One turn. `busy`: a child is at work already, another has to wait. */
void pp_requests_run(struct pp_requests *r, const struct pp_windows_job *job, struct pp_control *control, int busy);
/* 1: a request needs what the rings hold. */
int pp_requests_active(const struct pp_requests *r);
/* The ranks are over: nobody is served any more, whoever waits is told. */
void pp_requests_close(struct pp_requests *r, const struct pp_windows_job *job, const char *spool);
/* At the keeper's end, once: what was said has been fetched, or 2 s have gone by. */
void pp_requests_end(struct pp_requests *r);
