/* Captures requested while the job runs: by an owner-only socket in the spool, by request files in the log directory, by the
 * keeper itself (a signal, a slow step). One is served at a time, the others are queued. Steps to come: the ranks agree on the
 * first one through MPI, or the keeper chooses one that no rank has begun, and retries where a rank was past it. Times: cut out
 * of what is held, or, where the job records in windows only, recorded from now on. In: lines of `podprof capture`, as in
 * capture_request.h. Out: a session per request, and lines back: "wait TEXT\n" lines, then "done\n" or "failed\n" and a text to
 * its end. Called by keeper.c; never blocks. */
#pragma once

#include "aggregate/keeper/capture/request_state.h"

/* One turn. `busy`: a child is writing, another has to wait. */
void pp_requests_run(struct pp_requests *r, const struct pp_windows_job *job, struct pp_control *control, int busy);
/* 1: an open request needs what the rings hold. */
int pp_requests_active(const struct pp_requests *r);
/* 1: a client or a request is there, which the next turns look at. */
int pp_requests_busy(const struct pp_requests *r);
/* The ranks are over: no request is served any more, and waiting clients get an answer. */
void pp_requests_close(struct pp_requests *r, const struct pp_windows_job *job, const char *spool);
/* At the keeper's end, once: returns when the answers have been fetched, or after 2 s. */
void pp_requests_end(struct pp_requests *r);
