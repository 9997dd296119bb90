/* Requests from any host that sees the log directory: <logdir>/.podprof-requests/JOB-HOST-PID/, owner-only, made by the keeper
 * that leads. A client leaves NAME.request (0600, by rename) there; NAME.part grows while it is served and becomes NAME.answer;
 * both hold the text of the socket. Polled once a second. Accepted: a plain file of the same user, not readable by others, one
 * link, small, not older than the directory; each name once. In: files. Out: clients of request.h. Called by request.c; the CLI
 * knows the names. */
#pragma once

#include "aggregate/keeper/capture/request_state.h"

#define PP_REQUESTS_DIR ".podprof-requests"
#define PP_REQUESTS_KEEPER "keeper" /* NAME=value lines: HOST, BOOT, SPACE (of pids), PID, SPOOL, JOB */

struct pp_windows_job;

/* One turn: makes the directory where this keeper leads, accepts requests, finds cancelled ones. */
void pp_request_files_run(struct pp_requests *r, const struct pp_windows_job *job, int64_t now_ms);
/* Removes the directory when the answers have been fetched, or after 2 s. */
void pp_request_files_release(struct pp_request_files *f);
