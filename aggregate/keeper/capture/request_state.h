/* The state of capture requests: shared by the request*.c files, and read by callers that look at a request in progress. */
#pragma once

#include "aggregate/keeper/capture/capture_request.h"
#include "aggregate/keeper/capture/timestamp_pair.h"
#include "aggregate/keeper/capture/writing.h"
#include "core/ring/ring_file.h"

enum { PP_REQUEST_FILE_NAME = 24, PP_REQUEST_NAMES = 256 };

struct pp_request_files {
	int fd; /* the directory; -1: none (yet) */
	char path[4352];
	int64_t retry_ms, checked_ms, begun_ms; /* retry_ms: not made before then */
	int64_t made_ns;                        /* when the directory was made, by the clock of its file system */
	int64_t changed_ns;                     /* of the directory, as last looked at */
	int again;                              /* it may have changed again within one tick of that clock */
	uint64_t seen[PP_REQUEST_NAMES];        /* hashes of names that were answered */
	uint32_t seens;
};

enum { PP_REQUEST_CLIENTS = 8, PP_REQUEST_OWN = 2, PP_REQUEST_SLOTS = PP_REQUEST_CLIENTS + PP_REQUEST_OWN };

enum pp_client_state {
	PP_CLIENT_FREE,
	PP_CLIENT_READING,
	PP_CLIENT_QUEUED,
	PP_CLIENT_ACTIVE,
	PP_CLIENT_CHECKS,    /* waits for the list of ranks, independent of the queue */
	PP_CLIENT_PASSED_ON, /* the leader serves it */
};

struct pp_client {
	int fd; /* of the socket, or of the answer to a request file; -1: the keeper itself */
	enum pp_client_state state;
	uint64_t order; /* QUEUED: the lowest is next */
	struct pp_capture_request request;
	char line[PP_CAPTURE_REQUEST_LINE];
	size_t used;
	int64_t since_ms;                /* READING */
	char file[PP_REQUEST_FILE_NAME]; /* its request file; "" none */
	int directory;                   /* of the file */
	int gone;                        /* the client has removed its request file */
	int64_t answered_ms;
	int elsewhere; /* 1: a client of another host: `peer`, where it has the number `number` */
	int peer;
	uint32_t number;
	struct pp_pod *pod;
};

enum pp_request_turn {
	PP_TURN_IDLE,
	PP_TURN_ASKED, /* ranks were sent steps, or asked to agree on some */
	PP_TURN_OPEN,  /* ranks were asked to record now: until all live ones do */
	PP_TURN_TIMED, /* until the time has passed */
	PP_TURN_WRITING,
};

struct pp_request_span {     /* of PP_CAPTURE_REQUEST_SPAN: the range to keep */
	int64_t first, last; /* steps */
	struct pp_timestamp_pair from, to;
	char what[144];
};

struct pp_requests_own { /* the keeper's own requests: by a signal or a slow step */
	int captured, failed;
	char first[64], last[64]; /* sessions, of those that are where the first one is */
	char moved[64];           /* where that is, if not in the log directory */
	char what[144], why[200];
};

struct pp_requests_seen {
	int32_t rank;
	int64_t step;
};

struct pp_live;

struct pp_requests {
	struct pp_pod *pod;   /* pod.h; NULL: one host */
	int listen_fd;        /* -1: there is none */
	struct pp_wake *wake; /* reports clients of listen_fd; NULL: each turn looks for them */
	struct pp_client client[PP_REQUEST_SLOTS];
	uint64_t orders;
	struct pp_client *active;
	enum pp_request_turn turn;
	int held;        /* the window of the options is open: requests wait */
	int always;      /* the job records all the time: a window by time needs no request to ranks */
	uint32_t number; /* of the last request sent to ranks */
	enum pp_ask_kind kind;
	int64_t first, last, margin;
	int tries;
	int64_t seen_step, reported_step; /* the highest step of all ranks: at seen_ms; as last reported to the client */
	int64_t seen_ms, pace;            /* steps in PACE_MS before it */
	int64_t begun_step;               /* the highest step when the request was sent */
	int64_t moved_ms;                 /* when seen_step rose last */
	int64_t requested_ms;
	int no_agreement;                  /* ranks did not agree in time: steps are fixed by the keeper */
	struct pp_timestamp_pair origin;   /* when the keeper began */
	struct pp_timestamp_pair asked;    /* when the request was sent, or its turn came */
	struct pp_timestamp_pair taken;    /* when its turn came */
	struct pp_timestamp_pair from, to; /* of a window by time */
	int64_t held_ns;                   /* how much of the window is held; 0: all of it */
	int evicted;                       /* 1: older records were evicted; 0: the job is no older */
	struct pp_request_span span;
	char slow[256];     /* LEADER: the line of another keeper about a slow step there, to be looked at; "" none */
	uint64_t slow_more; /* such lines that arrived meanwhile */
	int64_t *acked;     /* [ackeds] by ring: tick when the rank was seen to have received the request */
	size_t ackeds;
	char spool[512];
	struct pp_live *live; /* while a client waits for a list */
	int64_t live_ms;
	struct pp_requests_seen *seen; /* [seens] ranks of other hosts when the list began */
	size_t seens;
	struct pp_request_files files;
	uint64_t signals;                                         /* of all ranks, so far */
	struct pp_requests_own own[PP_BY_API - PP_BY_SIGNAL + 1]; /* by source of the request */
	struct pp_forked_writer writer;
};
