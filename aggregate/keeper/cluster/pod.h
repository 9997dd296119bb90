/* Joins the keepers of several hosts to one job: which of them leads, what ranks of other hosts do, the leader's request to all
 * of them. Called by keeper.c, request.c, windows.c. In: this host's rings, messages (net.h). Out: a table of other hosts'
 * ranks, control pages. The leader is the keeper that has rank 0's ring. One thread; only pp_pod_wait() waits; a forked child
 * calls none of it. NULL is a job of one host: each function of a job takes it. podprof doctor --clock has a pod without a job. */
#pragma once

#include "aggregate/keeper/cluster/pod_types.h"

struct pp_pod;

/* -ENOMEM only. */
int pp_pod_new(const struct pp_pod_options *o, struct pp_pod **ret_pod);
/* Without a job, once, before the first turn: leads, or looks for the leader; `watch` sees all that arrives. -ENETUNREACH: no other
 * host reaches this one; -EADDRINUSE: no port of the range is free. */
int pp_pod_begin(struct pp_pod *p, int leads, pp_pod_watcher *watch, void *context, struct pp_err *err);
/* Without a job. Queues a message to a host that has joined, 0 on a follower; lost where that has left. */
void pp_pod_send(struct pp_pod *p, int peer, const struct pp_wire *m);
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
/* FOLLOWER. Is its part of the job's session sent, or is no further window written? */
int pp_pod_is_done(const struct pp_pod *p);
/* FOLLOWER. Does it make or send a share now? */
int pp_pod_is_sharing(const struct pp_pod *p);
/* Windows of --steps below this one are in sessions that have this host's ranks: the leader's, or its own. */
uint64_t pp_pod_windows_done(const struct pp_pod *p);
/* This keeper itself has begun to write the windows below `number`. */
void pp_pod_set_windows_done(struct pp_pod *p, uint64_t number);
/* NULL: as the options say. */
const char *pp_pod_session(const struct pp_pod *p);
/* As of the last turn; ALONE before the first ring. */
enum pp_pod_role pp_pod_role(const struct pp_pod *p);
/* ms that the keeper may sleep at most: less while other hosts wait for the state of its ranks. */
int pp_pod_pace(const struct pp_pod *p);
/* Through which transport the other hosts were invited, and why not through a better one; "" where all ranks are here. */
const char *pp_pod_why(struct pp_pod *p);
