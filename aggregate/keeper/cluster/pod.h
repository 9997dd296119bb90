/* The keepers of several hosts as one job: who leads, what ranks elsewhere do, the leader's word to all of them. Called by
 * keeper.c, request.c, windows.c. In: this host's rings, messages (net.h). Out: a table of other hosts' ranks, control pages.
 * The leader is the keeper that has rank 0's ring. One thread; nothing waits but pp_pod_wait(); a forked child calls none of it.
 * NULL is a job of one host: each function takes it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "aggregate/keeper/capture/job.h"
#include "core/ring/ring_file.h"

enum { PP_POD_TEXT = 1024 }; /* bytes of a client's line, of an answer */

enum pp_pod_role {
	PP_POD_ALONE,    /* all is decided here: one host, or the others cannot be reached (pp_pod_why() says it) */
	PP_POD_LEADER,   /* all is decided here, for other hosts too */
	PP_POD_FOLLOWER, /* nothing is decided here: no request, no window, no session before the leader says so */
};

struct pp_pod;

struct pp_pod_options {
	const char *spool;
	const struct pp_settings *settings;
	const struct pp_windows_job *job; /* the job's only session: its options, its rings */
	struct pp_control *control;
};

/* A rank of another host, as its keeper said last. What it does meanwhile is told within a few ms while a request goes on, else
 * within half a second. */
struct pp_pod_rank {
	int32_t rank, pid;
	char host[72];
	int gone;  /* it ended, its host left, or was not heard for 10 s: nobody waits for it */
	int over;  /* gone, or past its last window (pp_ranks_is_over()) */
	int lost;  /* its host was not heard: what it did cannot be had */
	int marks; /* pp_ring_header.step_marks */
	int recording;
	int64_t step;            /* the highest of its threads; INT64_MIN: none */
	uint64_t request;        /* pp_ring_header.request: number of the request << 8 | enum pp_request_state */
	int64_t first, last;     /* pp_ring_header.request_row: steps that it agreed on, with PP_ASK_AGREE */
	uint64_t windows_passed; /* pp_ring_header.windows_passed */
	uint32_t signals;        /* pp_ring_header.signals */
	struct pp_where where;   /* of its main thread */
	int64_t heard_ms;        /* CLOCK_MONOTONIC; of its keeper */
};

/* -ENOMEM only. */
int pp_pod_new(const struct pp_pod_options *o, struct pp_pod **ret_pod);
/* Says goodbye, takes the invitation away. */
void pp_pod_free(struct pp_pod *p);
/* One turn: decides on the role, takes and gives messages, puts the leader's word into this host's control page. Returns whether
 * something came that requests or windows should look at now. */
int pp_pod_run(struct pp_pod *p);
/* Until a message comes, at most `ms`. 0: nothing to wait on, the caller sleeps. */
int pp_pod_wait(struct pp_pod *p, int ms);

/* May the keeper close now? `over`: by its own ranks it would; `asked`: it was told to end. A leader waits for the others'
 * ranks, a follower for the leader's word: where it has brought its share this is 1 and pp_pod_is_done(). Where the leader is
 * lost, or never came, it is 1 and the role is ALONE: the keeper writes a session of its own, by the name of pp_pod_session(). */
int pp_pod_may_close(struct pp_pod *p, int over, int asked);
int pp_pod_is_done(const struct pp_pod *p);
/* FOLLOWER. It makes or sends a share now. */
int pp_pod_is_sharing(const struct pp_pod *p);
/* NULL: as the options say. */
const char *pp_pod_session(const struct pp_pod *p);
enum pp_pod_role pp_pod_role(const struct pp_pod *p);
/* ms that the keeper may rest at most: less while other hosts wait for what ranks say. */
int pp_pod_pace(const struct pp_pod *p);
/* Through which transport the other hosts were invited, and why not through a better one; "" where all ranks are here. */
const char *pp_pod_why(struct pp_pod *p);

/* LEADER. The other hosts' ranks; a pointer until the next pp_pod_run(). */
const struct pp_pod_rank *pp_pod_ranks(const struct pp_pod *p, size_t *ret_ranks);
/* LEADER. The word that request_* and bell of this host's control page have just got, for all other hosts; who joins later gets
 * the last one. Nothing elsewhere. */
void pp_pod_tell(struct pp_pod *p, uint32_t number, enum pp_ask_kind kind, int64_t first, int64_t last);

/* LEADER. Every window that will be has been written: who waits for one need not. */
void pp_pod_tell_over(struct pp_pod *p);

/* Clients of `podprof capture` on another host. FOLLOWER: hand a client's line to the leader; `client` is the caller's own
 * number for it. 0, or -ENOTCONN: the leader is not reached yet, or was lost (pp_pod_why()). */
int pp_pod_ask(struct pp_pod *p, uint32_t client, const char *line);
/* FOLLOWER. That client went away. */
void pp_pod_forget(struct pp_pod *p, uint32_t client);

struct pp_pod_words {
	int peer; /* whose client; LEADER */
	uint32_t client;
	int ended; /* leader to follower: this was all, close it; follower to leader: the client went away */
	char text[PP_POD_TEXT];
};

/* 1: words that came, LEADER: of clients elsewhere; FOLLOWER: for clients here, to be passed on as they are. In order. */
int pp_pod_heard(struct pp_pod *p, struct pp_pod_words *ret_words);
/* LEADER. Lines back, as the socket has them ("wait TEXT\n", "done\n..."). Lost where that host is. */
void pp_pod_answer(struct pp_pod *p, const struct pp_pod_words *words);

/* A window that is closed on all hosts. LEADER: what of their rings the others are to take, each by its own rows. */
enum pp_pod_cut {
	PP_POD_ALL,     /* all that is held: the one session of the job */
	PP_POD_WINDOW,  /* window `number` of --steps, by pp_ring_header.window[]; what is before it is dropped there */
	PP_POD_REQUEST, /* request `number`, by request_row; ranks without it: from the earliest begin to the latest end */
	PP_POD_TICKS,   /* from..to in this host's ticks; elsewhere by the clock */
	PP_POD_CODE,    /* window `number` of the program, by pp_ring_header.code[]; ranks without it as with PP_POD_REQUEST */
};

struct pp_pod_window {
	enum pp_pod_cut cut;
	uint64_t number;
	int64_t from, to;    /* PP_POD_TICKS */
	int64_t first, last; /* steps asked for; last <= first: none */
	char ranks[256];     /* XSpace has the events of these only; "": as the options say */
};

/* LEADER, before pp_forked_writer_start() of the child that writes the window: the child's end of the talk, which goes into
 * pp_session_options.gather; NULL where there is nobody to ask (other roles, no other host) or no memory. One at a time. After
 * the fork the parent calls pp_pod_gathering(), with 0 where there is no child. pp_pod_run() does the rest; the child's answer
 * is in its pp_forked_writer as ever. */
struct pp_gather;
struct pp_gather *pp_pod_gather(struct pp_pod *p, const struct pp_pod_window *w);
void pp_pod_gathering(struct pp_pod *p, int has_child);
