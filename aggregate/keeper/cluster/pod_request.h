/* Requests of the leader, and lines between it and clients of other hosts. The first four functions are called by pod.c, the
 * others by the keeper; NULL is a job of one host. */
#pragma once

#include "aggregate/keeper/cluster/pod_types.h"

struct pp_pod;
struct pp_wire;

/* Follower. Writes the leader's request into this host's control page, as request.c does on the leader's host. */
void pp_pod_take_request(struct pp_pod *p, int peer, const struct pp_wire *m);
/* Follower. Writes the leader's last request again, or that there is none: what this host requested without the leader ends. */
void pp_pod_ring_request(struct pp_pod *p);
/* Queues a client's line for pp_pod_next_line(); a line beyond PP_POD_QUEUE is lost, and logged. */
void pp_pod_take_line(struct pp_pod *p, int peer, const struct pp_wire *m);
/* Leader. Sends the last request, if there is one, to a host that has joined. */
void pp_pod_resend_request(struct pp_pod *p, int peer);

/* LEADER. Sends the request that request_* and bell of this host's control page have just got to all other hosts; a host that
 * joins later gets the last one. Does nothing in other roles. */
void pp_pod_send_request(struct pp_pod *p, uint32_t number, enum pp_ask_kind kind, int64_t first, int64_t last, uint32_t level);

/* LEADER. Tells the followers that no further window is written: none of them waits for one any more. */
void pp_pod_send_over(struct pp_pod *p);

/* Clients of `podprof capture` on another host. FOLLOWER: passes a client's line to the leader; `client` is the caller's own
 * number for it. 0, or -ENOTCONN: the leader is not reached yet, or was lost (pp_pod_why()). */
int pp_pod_ask(struct pp_pod *p, uint32_t client, const char *line);
/* FOLLOWER. That client went away. */
void pp_pod_forget(struct pp_pod *p, uint32_t client);

/* 1: the next line that arrived, in order. LEADER: from clients of other hosts; FOLLOWER: for clients here, to be passed on
 * unchanged. */
int pp_pod_next_line(struct pp_pod *p, struct pp_pod_client_line *ret_line);
/* LEADER. Sends lines back in the form of the socket ("wait TEXT\n", "done\n..."). They are lost where that host is lost. */
void pp_pod_answer(struct pp_pod *p, const struct pp_pod_client_line *line);
