/* Instants of the leader's in a follower's ticks, for windows that are cut by time. Called by pod_share.c. */
#pragma once

#include "aggregate/keeper/cluster/pod.h"
#include "aggregate/keeper/host/wall_watch.h"
#include "core/clock/clock_map.h"
#include "core/clock/pieces.h"

/* In place: the leader's ticks become ours by the chain that the comparing left, as sure as the chain's bound. */
void pp_pod_cut_by_chain(const struct pp_clock_map *leader, const struct pp_pieces *chain, struct pp_pod_window *w);
/* By the leader's dates, where the clocks were not compared: as good as both hosts' dates are. -ENODATA, -ERANGE: they say nothing
 * here, and the window is open at both ends. */
int pp_pod_cut_by_date(struct pp_wall_watch *wall, const struct pp_pod_window *dates, struct pp_pod_window *w);
