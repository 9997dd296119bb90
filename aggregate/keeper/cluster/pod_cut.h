/* Converts the leader's timestamps to a follower's ticks, for windows that are cut by time. Called by pod_share.c. */
#pragma once

#include "aggregate/keeper/cluster/pod.h"
#include "aggregate/keeper/host/wall_watch.h"
#include "core/clock/clock_map.h"
#include "core/clock/pieces.h"

/* In place: converts the leader's ticks to ours by the chain of clock comparisons, as accurate as the chain's bound. */
void pp_pod_cut_by_chain(const struct pp_clock_map *leader, const struct pp_pieces *chain, struct pp_pod_window *w);
/* By the leader's wall clock, where the clocks were not compared: as accurate as both wall clocks. -ENODATA, -ERANGE: the dates
 * cannot be mapped here, and the window is open at both ends. */
int pp_pod_cut_by_date(struct pp_wall_watch *wall, const struct pp_pod_window *dates, struct pp_pod_window *w);
