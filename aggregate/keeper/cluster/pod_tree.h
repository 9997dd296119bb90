/* The leader's tree of clocks. Called by pod_clock.c, pod_gather.c and pod.c. */
#pragma once

#include "aggregate/keeper/cluster/pod_state.h"

/* Computes the places again where they are stale, and sends each host its new one. */
void pp_pod_tree_run(struct pp_pod *p);
/* A host reports its place, a clock that is not what it claimed, a lost turn, or a hub's chain. */
void pp_pod_tree_take(struct pp_pod *p, int peer, const struct pp_wire *m);
/* Updates who has missed turns, after a round. */
void pp_pod_tree_take_missed(struct pp_pod *p);
/* A round begins: asks the hubs for their chains after it. */
void pp_pod_tree_call(struct pp_pod *p);
/* Is a hub's chain of this round still missing? */
int pp_pod_tree_waits(const struct pp_pod *p);
/* Turns of a round, one after another. */
size_t pp_pod_tree_turns(const struct pp_pod *p);
/* Sends the hosts below hubs the chains of their parents, before they are asked for shares. */
void pp_pod_tree_send_chains(struct pp_pod *p);
/* Frees the chains. */
void pp_pod_tree_end(struct pp_pod *p);
