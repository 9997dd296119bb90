/* Joins the keepers of several hosts to one job: which of them leads, what ranks of other hosts do, the leader's request to all
 * of them. Called by keeper.c, request.c, windows.c. In: this host's rings, messages (net.h). Out: a table of other hosts'
 * ranks, control pages. The leader is the keeper that has rank 0's ring. One thread; only pp_pod_wait() waits; a forked child
 * calls none of it. NULL is a job of one host: each function takes it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "aggregate/keeper/capture/job.h"
#include "aggregate/spool/still.h"
#include "core/ring/ring_file.h"

enum { PP_POD_TEXT = 1024 }; /* bytes of a client's line, of an answer */

enum pp_pod_role {
	PP_POD_ALONE,    /* this keeper decides: one host, or the others cannot be reached (pp_pod_why() says why) */
	PP_POD_LEADER,   /* this keeper decides, for other hosts too */
	PP_POD_FOLLOWER, /* the leader decides: no request, no window, no session before its message */
};

struct pp_pod;

struct pp_pod_options {
	const char *spool;
	const struct pp_settings *settings;
	const struct pp_windows_job *job; /* the job's only session: its options, its rings */
	struct pp_control *control;
	const unsigned *spool_changes; /* rises when a file was made in the spool */
};

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
	int64_t received_ms;              /* CLOCK_MONOTONIC; last message of its keeper */
};

/* -ENOMEM only. */
int pp_pod_new(const struct pp_pod_options *o, struct pp_pod **ret_pod);
/* Sends goodbye and removes the invitation. */
void pp_pod_free(struct pp_pod *p);
/* One turn: decides on the role, receives and sends messages, writes the leader's request into this host's control page. Returns
 * whether something arrived that requests or windows should look at now. */
int pp_pod_run(struct pp_pod *p);
/* Until a message comes or `fd` (-1: none) is readable, at most `ms`. 0: nothing to wait on, the caller sleeps. */
int pp_pod_wait(struct pp_pod *p, int fd, int ms);

/* May the keeper close now? `over`: its own ranks are over; `asked`: it was requested to end. A leader waits for the others'
 * ranks, a follower for the leader's request: once it has sent its share this returns 1 and pp_pod_is_done() holds. Where the
 * leader is lost or never came this returns 1 and the role is ALONE: the keeper writes a session of its own, with the name from
 * pp_pod_session(). */
int pp_pod_may_close(struct pp_pod *p, int over, int asked);
int pp_pod_is_done(const struct pp_pod *p);
/* FOLLOWER. Does it make or send a share now? */
int pp_pod_is_sharing(const struct pp_pod *p);
/* NULL: as the options say. */
const char *pp_pod_session(const struct pp_pod *p);
enum pp_pod_role pp_pod_role(const struct pp_pod *p);
/* ms that the keeper may sleep at most: less while other hosts wait for the state of its ranks. */
int pp_pod_pace(const struct pp_pod *p);
/* Through which transport the other hosts were invited, and why not through a better one; "" where all ranks are here. */
const char *pp_pod_why(struct pp_pod *p);

/* LEADER. The other hosts' ranks; a pointer until the next pp_pod_run(). */
const struct pp_pod_rank *pp_pod_ranks(const struct pp_pod *p, size_t *ret_ranks);
/* LEADER. Sends the request that request_* and bell of this host's control page have just got to all other hosts; a host that
 * joins later gets the last one. Does nothing in other roles. */
void pp_pod_send_request(struct pp_pod *p, uint32_t number, enum pp_ask_kind kind, int64_t first, int64_t last);

/* LEADER. Tells the followers that no further window is written: none of them waits for one any more. */
void pp_pod_send_over(struct pp_pod *p);

/* Clients of `podprof capture` on another host. FOLLOWER: passes a client's line to the leader; `client` is the caller's own
 * number for it. 0, or -ENOTCONN: the leader is not reached yet, or was lost (pp_pod_why()). */
int pp_pod_ask(struct pp_pod *p, uint32_t client, const char *line);
/* FOLLOWER. That client went away. */
void pp_pod_forget(struct pp_pod *p, uint32_t client);

struct pp_pod_client_line {
	int peer; /* whose client; LEADER */
	uint32_t client;
	int ended; /* leader to follower: last line, close the client; follower to leader: the client disconnected */
	char text[PP_POD_TEXT];
};

/* 1: the next line that arrived, in order. LEADER: from clients of other hosts; FOLLOWER: for clients here, to be passed on
 * unchanged. */
int pp_pod_next_line(struct pp_pod *p, struct pp_pod_client_line *ret_line);
/* LEADER. Sends lines back in the form of the socket ("wait TEXT\n", "done\n..."). They are lost where that host is lost. */
void pp_pod_answer(struct pp_pod *p, const struct pp_pod_client_line *line);

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

/* LEADER, before pp_forked_writer_start() of the child that writes the window: returns the child's end of the socket pair, for
 * pp_session_options.gather; NULL where no other host can be asked or no memory is left. One at a time. After the fork the
 * parent calls pp_pod_gathering(), with 0 where there is no child. pp_pod_run() does the rest; the child's answer is in its
 * pp_forked_writer. */
struct pp_gather;
struct pp_gather *pp_pod_gather(struct pp_pod *p, const struct pp_pod_window *w);
void pp_pod_gathering(struct pp_pod *p, int has_child);
