/* Captures that are asked for while the job runs: an owner-only socket in the spool, one request at a time, the others queued. The
 * keeper fixes a step that no rank has begun, tells all ranks of the host through its page, and tries again where one was past it.
 * In: lines of `podprof capture`. Out: a session a request, and lines back. Called by keeper.c; never blocks. */
#ifndef PP_KEEPER_REQUEST_H
#define PP_KEEPER_REQUEST_H

#include "aggregate/keeper/writing.h"
#include "core/ring/ring_file.h"

enum { PP_REQUEST_CLIENTS = 8, PP_REQUEST_LINE = 128 };

/* "capture COUNT\n": the next COUNT steps. Back come "wait TEXT\n" lines, then "done\n" or "failed\n" and a text to its end. */

enum pp_client_state { PP_CLIENT_FREE, PP_CLIENT_READING, PP_CLIENT_QUEUED, PP_CLIENT_ACTIVE };

struct pp_client {
	int fd;
	enum pp_client_state state;
	uint64_t order; /* QUEUED: the lowest is next */
	int64_t steps;
	char line[PP_REQUEST_LINE];
	size_t used;
	int64_t since_ms; /* READING */
};

enum pp_request_turn { PP_TURN_IDLE, PP_TURN_ASKED, PP_TURN_WRITING };

struct pp_requests {
	int listen_fd; /* -1: there is none */
	struct pp_client client[PP_REQUEST_CLIENTS];
	uint64_t orders;
	struct pp_client *active;
	enum pp_request_turn turn;
	uint32_t number; /* of the last one that ranks were told */
	int64_t first, last, margin;
	int tries;
	int64_t seen_step, told_step; /* the highest step of all ranks, when it was last looked at; said to the client */
	int64_t moved_ms;             /* when it rose */
	struct pp_aside aside;
};

/* -errno with the sentence: captures cannot be asked for, all else goes on. */
int pp_requests_open(struct pp_requests *r, const char *spool, struct pp_err *err);
/* One turn. `busy`: a child is at work already, another has to wait. */
void pp_requests_run(struct pp_requests *r, const struct pp_windows_job *job, struct pp_control *control, int busy);
/* 1: a request needs what the rings hold. */
int pp_requests_active(const struct pp_requests *r);
/* The ranks are over: nobody is served any more, whoever waits is told. */
void pp_requests_close(struct pp_requests *r, const struct pp_windows_job *job, const char *spool);

/* For both ends: the socket's address, which may be longer than such addresses can be: `ret_fd` is to be closed after its use. */
struct sockaddr_un;
int pp_requests_address(const char *spool, struct sockaddr_un *ret_address, int *ret_fd);

#endif
