/* Captures that are asked for while the job runs: by an owner-only socket in the spool, by request files in the log directory, by
 * the keeper itself (a signal, a slow step). One at a time, the others queued. Steps to come: the ranks agree on the first one
 * through MPI, or the keeper fixes one that nobody has begun; tried again where a rank was past it. Times: cut out of what is held,
 * or, where the job records in windows only, recorded from now on.
 * In: lines of `podprof capture`. Out: a session a request, and lines back. Called by keeper.c; never blocks.
 *
 * A line is that of wish.h. Back come "wait TEXT\n" lines, then "done\n" or "failed\n" and a text to its end. */
#ifndef PP_KEEPER_REQUEST_H
#define PP_KEEPER_REQUEST_H

#include "aggregate/keeper/capture/moment.h"
#include "aggregate/keeper/capture/request_file.h"
#include "aggregate/keeper/capture/wish.h"
#include "aggregate/session/writing.h"
#include "core/ring/ring_file.h"

enum { PP_REQUEST_CLIENTS = 8, PP_REQUEST_OWN = 2, PP_REQUEST_SLOTS = PP_REQUEST_CLIENTS + PP_REQUEST_OWN };

enum pp_client_state {
	PP_CLIENT_FREE,
	PP_CLIENT_READING,
	PP_CLIENT_QUEUED,
	PP_CLIENT_ACTIVE,
	PP_CLIENT_LOOKS,     /* waits for the list of ranks, beside what the others wait for */
	PP_CLIENT_PASSED_ON, /* the keeper of rank 0's host serves it */
};

struct pp_client {
	int fd; /* of the socket, or of the answer to a request file; -1: the keeper itself */
	enum pp_client_state state;
	uint64_t order; /* QUEUED: the lowest is next */
	struct pp_wish wish;
	char line[PP_WISH_LINE];
	size_t used;
	int64_t since_ms;                /* READING */
	char file[PP_REQUEST_FILE_NAME]; /* its request file; "" none */
	int gone;                        /* the request file was taken away */
	int64_t said_ms;
	int elsewhere; /* 1: it asked the keeper of another host, `peer`, where it is `number` */
	int peer;
	uint32_t number;
	struct pp_pod *pod;
};

enum pp_request_turn {
	PP_TURN_IDLE,
	PP_TURN_ASKED, /* ranks were told steps, or to agree on some */
	PP_TURN_OPEN,  /* ranks were told to record now: until all that live do */
	PP_TURN_TIMED, /* until its time is over */
	PP_TURN_WRITING,
};

struct pp_request_span {     /* of PP_WISH_SPAN; what is to be kept */
	int64_t first, last; /* steps */
	struct pp_moment from, to;
	char what[144];
};

struct pp_requests_own { /* what the keeper asked for itself: by a signal or a slow step */
	int captured, failed;
	char first[64], last[64]; /* sessions */
	char what[144], why[200];
};

struct pp_requests_seen {
	int32_t rank;
	int64_t step;
};

struct pp_live;

struct pp_requests {
	struct pp_pod *pod; /* pod.h; NULL: one host */
	int listen_fd;      /* -1: there is none */
	struct pp_client client[PP_REQUEST_SLOTS];
	uint64_t orders;
	struct pp_client *active;
	enum pp_request_turn turn;
	int held;              /* the job's own window is open: the others wait */
	int always;            /* the job records all the time: nobody need be told for a window by time */
	uint32_t number;       /* of the last one that ranks were told */
	enum pp_ask_kind kind; /* of it */
	int64_t first, last, margin;
	int tries;
	int64_t seen_step, told_step; /* the highest step of all ranks, when it was last looked at; said to the client */
	int64_t begun_step;           /* it was so when ranks were told */
	int64_t moved_ms;             /* when it rose */
	int64_t told_ms;              /* when ranks were told */
	int no_agreement;             /* ranks did not agree in time: steps are fixed by the keeper */
	struct pp_moment origin;      /* when the keeper began */
	struct pp_moment asked;       /* when ranks were told, or its turn came */
	struct pp_moment taken;       /* when its turn came */
	struct pp_moment from, to;    /* of a window by time */
	int64_t held_ns;              /* no more of it is held; 0: all is */
	int evicted;                  /* because what was before had to go, not because the job is no older */
	struct pp_request_span span;
	char slow[256];     /* LEADER: the word of another keeper of a slow step there, to be looked at; "" none */
	uint64_t slow_more; /* that came meanwhile */
	int64_t *acked;     /* [ackeds] by ring: tick when it was seen to have taken the request */
	size_t ackeds;
	char spool[512];
	struct pp_live *live; /* while anybody waits for a list */
	int64_t live_ms;
	struct pp_requests_seen *seen; /* [seens] ranks of other hosts when that began */
	size_t seens;
	struct pp_request_files files;
	uint64_t signals;                                          /* of all ranks, so far */
	struct pp_requests_own own[PP_BY_CODE - PP_BY_SIGNAL + 1]; /* by who asked */
	struct pp_aside aside;
};

/* -errno with the sentence: captures cannot be asked for by the socket, all else goes on. */
int pp_requests_open(struct pp_requests *r, const char *spool, struct pp_err *err);
/* One turn. `busy`: a child is at work already, another has to wait. */
void pp_requests_run(struct pp_requests *r, const struct pp_windows_job *job, struct pp_control *control, int busy);
/* The keeper itself asks. 0, or -EBUSY: it has asked already and that waits. */
int pp_requests_ask(struct pp_requests *r, const struct pp_wish *wish);
/* 1: a request needs what the rings hold. */
int pp_requests_active(const struct pp_requests *r);
/* The ranks are over: nobody is served any more, whoever waits is told. */
void pp_requests_close(struct pp_requests *r, const struct pp_windows_job *job, const char *spool);
/* At the keeper's end, once: what was said has been fetched, or 2 s have gone by. */
void pp_requests_end(struct pp_requests *r);

/* For both ends: the socket's address, which may be longer than such addresses can be: `ret_fd` is to be closed after its use. */
struct sockaddr_un;
int pp_requests_address(const char *spool, struct sockaddr_un *ret_address, int *ret_fd);

#endif
