/* Requests from wherever the log directory is seen: <logdir>/.podprof-requests/JOB-HOST-PID/, owner-only, made by the keeper that
 * leads. Who asks leaves NAME.request (0600, by rename) there; NAME.part grows while it is served and becomes NAME.answer; both are
 * what the socket says. Looked at once a second. Taken: a plain file of the same user, nobody else's to read, one name, small, not
 * older than the directory; each name once. In: files. Out: clients of request.h. Called by request.c; the CLI knows the names. */
#ifndef PP_KEEPER_REQUEST_FILE_H
#define PP_KEEPER_REQUEST_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"

#define PP_REQUESTS_DIR ".podprof-requests"
#define PP_REQUESTS_KEEPER "keeper" /* NAME=value lines: HOST, BOOT, SPACE (of pids), PID, SPOOL, JOB */

enum { PP_REQUEST_FILE_NAME = 24, PP_REQUEST_NAMES = 256 };

struct pp_request_files {
	int fd;          /* of the directory; -1: there is none (yet) */
	char path[4352]; /* of it */
	int64_t tried_ms, looked_ms, begun_ms;
	int64_t made_ns;                 /* when the directory was made, by the clock of its file system */
	int64_t changed_ns;              /* of the directory, as last looked at */
	int again;                       /* it may have changed since within one tick of that clock */
	uint64_t seen[PP_REQUEST_NAMES]; /* names that were answered */
	uint32_t seens;
};

struct pp_requests;
struct pp_client;
struct pp_windows_job;

void pp_request_files_init(struct pp_request_files *f);
/* One turn: makes the directory where this keeper leads, takes requests, sees which were taken back. */
void pp_request_files_run(struct pp_requests *r, const struct pp_windows_job *job, int64_t now_ms);
/* Takes the directory away, once answers were fetched or 2 s have gone by. */
void pp_request_files_release(struct pp_request_files *f);

/* request_sweep.c: removes all in a directory but answers, returns how many of those there are; `all`: these too. */
int pp_request_files_clear(int directory, int all);
/* What is left of keepers that were killed where their pids are known; `parent` is owner-only. */
void pp_request_files_sweep(const char *parent);
/* The first lines of the keeper's file. */
void pp_request_files_where(char *text, size_t size);

/* For request_socket.c: a client that has a file. */
void pp_request_file_say(struct pp_client *c, const char *text);
void pp_request_file_leave(struct pp_client *c);

#endif
