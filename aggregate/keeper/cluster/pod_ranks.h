/* The state of ranks: this host's to the leader, the other hosts' in the leader's table. Called by pod_role.c and pod_transport.c.
 * See also pp_pod_ranks() in pod.h. */
#pragma once

#include "aggregate/keeper/cluster/pod_state.h"

/* Reports this host's ranks, at most once per ms while a request is open, else per 100 ms. */
void pp_pod_send_states(struct pp_pod *p);
/* Leader. A host has joined, and says hello. */
void pp_pod_take_peer(struct pp_pod *p, int peer, const struct pp_wire_hello *h);
/* Leader. A heartbeat of a host. */
void pp_pod_take_ranks(struct pp_pod *p, int peer, const struct pp_wire *m);
/* Leader. A host has left, or is lost: nobody waits for its ranks. */
void pp_pod_take_end(struct pp_pod *p, int peer, int lost);
/* Leader. Is every rank of the world here or in the table? */
int pp_pod_is_complete(const struct pp_pod *p);
/* Leader. Are the ranks of all other hosts over? */
int pp_pod_others_over(const struct pp_pod *p);
