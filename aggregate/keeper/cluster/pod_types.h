/* What a keeper and its pod (pod.h) tell each other. No functions. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "aggregate/keeper/capture/job.h"
#include "aggregate/keeper/live_nccl.h"
#include "aggregate/keeper/net/net.h"
#include "aggregate/spool/still.h"
#include "core/ring/ring_file.h"

enum { PP_POD_TEXT = 1024 };    /* bytes of a client's line, of an answer */
enum { PP_POD_ALL_PAIRS = 16 }; /* hosts; of more, each compares its clock with the first one's only (pod_pairs.h) */

/* Requests of a host without its leader have numbers above this one: not those that the leader sends before or later. */
#define PP_POD_ALONE_REQUESTS (UINT32_C(1) << 31)

enum pp_pod_role {
	PP_POD_ALONE,    /* this keeper decides: one host, or the others cannot be reached (pp_pod_why() says why) */
	PP_POD_LEADER,   /* this keeper decides, for other hosts too */
	PP_POD_FOLLOWER, /* the leader decides: no request, no window, no session before its message */
};

/* How the invitation reached a host. Sent in the hello: append only. */
enum pp_pod_transport {
	PP_TRANSPORT_NONE,
	PP_TRANSPORT_MPI,
	PP_TRANSPORT_OUTER,
	PP_TRANSPORT_FILE,
	PP_TRANSPORT_STORE,
	PP_TRANSPORTS
};

struct pp_pod_options {
	const char *spool; /* "": none, without a job */
	const struct pp_settings *settings;
	/* The job's only session: its options, its rings. NULL: no ranks are here, and the hosts compare their clocks in all pairs
	 * (pod_pairs.h); the pod begins by pp_pod_begin(). */
	const struct pp_windows_job *job;
	struct pp_control *control;
	const unsigned *spool_changes; /* rises when a file was made in the spool */
	struct pp_wire_clock clock;    /* of this host, without a job; borrowed */
};

/* Sees a message, or a host that joins or leaves; the event is valid during the call. */
typedef void pp_pod_watcher(void *context, const struct pp_net_event *e);

/* A rank of another host, as its keeper reported it last: within a few ms while a request is open, else within half a second. */
struct pp_pod_rank {
	int32_t rank, pid;
	char host[72];
	int gone;  /* it ended, its host left, or sent nothing for 10 s: nobody waits for it */
	int over;  /* gone, or past its last window (pp_ranks_is_over()) */
	int lost;  /* its host sent nothing for too long: its records cannot be fetched */
	int marks; /* pp_ring_header.step_marks */
	int recording;
	int64_t step;            /* the highest of its threads; INT64_MIN: none */
	uint64_t request;        /* pp_ring_header.request: number of the request << 8 | enum pp_request_state */
	int64_t first, last;     /* pp_ring_header.request_row: steps that it agreed on, with PP_ASK_AGREE */
	uint64_t windows_passed; /* pp_ring_header.windows_passed */
	uint32_t signals;        /* pp_ring_header.signals */
	struct pp_still still;   /* where it is, and since when as its keeper saw it */
	int died, end;           /* gone: without exit handlers; exit status, or status as of wait(), -1 unknown */
	int32_t comm_size, comm_flags;
	char members[256], comm_name[84]; /* of the communicator that it stands still on, as in struct pp_live_rank */
	char nccl[PP_LIVE_NCCL];          /* of a rank that stands still, as there */
	int64_t received_ms;              /* CLOCK_MONOTONIC; last message of its keeper */
};

struct pp_pod_client_line {
	int peer; /* whose client; LEADER */
	uint32_t client;
	int ended; /* leader to follower: last line, close the client; follower to leader: the client disconnected */
	char text[PP_POD_TEXT];
};

/* What the leader's window takes from the other hosts' rings, each by its own rows. */
enum pp_pod_cut {
	PP_POD_ALL,     /* all that the rings hold: the one session of the job */
	PP_POD_WINDOW,  /* window `number` of --steps, by pp_ring_header.window[]; older records are dropped there */
	PP_POD_REQUEST, /* request `number`, by request_row; ranks without it: from the earliest begin to the latest end */
	PP_POD_TICKS,   /* from..to in this host's ticks; elsewhere by the clock */
	PP_POD_API, /* window `number` requested via API, by pp_ring_header.api_window[]; ranks without it as with PP_POD_REQUEST */
};

struct pp_pod_window {
	enum pp_pod_cut cut;
	uint64_t number;
	int64_t from, to;    /* PP_POD_TICKS */
	int64_t first, last; /* steps asked for; last <= first: none */
	char ranks[256];     /* XSpace has the events of these only; "": as the options say */
};
