/* All pairs of clocks, where hosts have no ranks: each is compared with those before it, in an order that the leader gives. Called
 * by podprof doctor --clock, which makes a pod without a job, and by pod_clock.c and pod.c. Leader only. In: hosts that have
 * joined. Out: places of the hosts, rounds; what a host has measured is at the host (pp_pod_clock_before()). */
#pragma once

#include <stddef.h>

struct pp_pod;
struct pp_wire;

/* Gives these hosts their places, in this order; once. `peer`: [hosts], at most PP_NET_PEERS + 1; [0] is -1, this host. */
void pp_pod_pairs_place(struct pp_pod *p, const int *peer, size_t hosts);
/* Has each of them that is still here taken its places? */
int pp_pod_pairs_are_placed(const struct pp_pod *p);
/* Begins a round: each host compares its clock once with those before it. */
void pp_pod_pairs_begin(struct pp_pod *p);
/* Does the round still run? It ends in bounded time. */
int pp_pod_pairs_is_busy(const struct pp_pod *p);
/* Where others may compare their clocks with that host's, this one's where peer < 0; "": not reported. */
const char *pp_pod_pairs_addresses(const struct pp_pod *p, int peer);

/* A host reports where others may compare their clocks with its, that it has a place, or that its part of the round is over. */
void pp_pod_pairs_take(struct pp_pod *p, int peer, const struct pp_wire *m);
/* One turn of a round: the next host's, once the one before is over. */
void pp_pod_pairs_run(struct pp_pod *p);
