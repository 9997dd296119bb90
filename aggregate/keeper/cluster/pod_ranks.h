/* The state of ranks: this host's to the leader, the other hosts' in the leader's table. The last function is the keeper's; the
 * others are called by pod.c and pod_transport.c. */
#pragma once

#include "aggregate/keeper/cluster/pod_types.h"

struct pp_pod;
struct pp_wire;
struct pp_wire_hello;

/* Reports this host's ranks, at most once per ms while a request is open, else per 100 ms. */
void pp_pod_send_states(struct pp_pod *p);
/* Leader. A host has joined, and says hello. */
void pp_pod_take_peer(struct pp_pod *p, int peer, const struct pp_wire_hello *h);
/* Leader. A heartbeat of a host. */
void pp_pod_take_ranks(struct pp_pod *p, int peer, const struct pp_wire *m);
/* Leader. A host has left, or is lost: nobody waits for its ranks. */
void pp_pod_take_end(struct pp_pod *p, int peer, int lost);
/* Leader. A host that was lost is back, by a heartbeat. */
void pp_pod_take_back(struct pp_pod *p, int peer, const struct pp_wire *m);
/* Leader. Is every rank of the world here or in the table? */
int pp_pod_is_complete(const struct pp_pod *p);
/* Leader. Are the ranks of all other hosts over? */
int pp_pod_others_over(const struct pp_pod *p);

/* LEADER. The other hosts' ranks; a pointer until the next pp_pod_run(). */
const struct pp_pod_rank *pp_pod_ranks(const struct pp_pod *p, size_t *ret_ranks);
