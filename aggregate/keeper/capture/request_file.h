/* Requests from wherever the log directory is seen: <logdir>/.podprof-requests/JOB-HOST-PID/, owner-only, made by the keeper that
 * leads. Who asks leaves NAME.request (0600, by rename) there; NAME.part grows while it is served and becomes NAME.answer; both are
 * what the socket says. Looked at once a second. Taken: a plain file of the same user, nobody else's to read, one name, small, not
 * older than the directory; each name once. In: files. Out: clients of request.h. Called by request.c; the CLI knows the names. */
#pragma once

#include "aggregate/keeper/capture/request_state.h"

#define PP_REQUESTS_DIR ".podprof-requests"
#define PP_REQUESTS_KEEPER "keeper" /* NAME=value lines: HOST, BOOT, SPACE (of pids), PID, SPOOL, JOB */

struct pp_windows_job;

void pp_request_files_init(struct pp_request_files *f);
/* One turn: makes the directory where this keeper leads, takes requests, sees which were taken back. */
void pp_request_files_run(struct pp_requests *r, const struct pp_windows_job *job, int64_t now_ms);
/* Takes the directory away, once answers were fetched or 2 s have gone by. */
void pp_request_files_release(struct pp_request_files *f);
