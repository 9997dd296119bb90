/* What the leader's window takes from this host's rings, in their own ticks. Called by pod_share.c and pod_request.c. */
#pragma once

#include "aggregate/keeper/capture/job.h"
#include "aggregate/keeper/cluster/pod_types.h"
#include "aggregate/keeper/host/wall_watch.h"
#include "core/clock/clock_map.h"
#include "core/clock/pieces.h"

/* In place: converts the leader's ticks to ours by the chain of clock comparisons, as accurate as the chain's bound. */
void pp_pod_cut_by_chain(const struct pp_clock_map *leader, const struct pp_pieces *chain, struct pp_pod_window *w);
/* By the leader's wall clock, where the clocks were not compared: as accurate as both wall clocks. -ENODATA, -ERANGE: the dates
 * cannot be mapped here, and the window is open at both ends. */
int pp_pod_cut_by_date(struct pp_wall_watch *wall, const struct pp_pod_window *dates, struct pp_pod_window *w);

/* Ticks of each ring, one row per ring, to be freed. NULL: no rank has begun the window, or no memory. */
struct pp_close_range *pp_pod_ranges(const struct pp_rings *r, const struct pp_pod_window *w);
/* Drops what no window after number `index` needs; a forked writer has its own copy. */
void pp_pod_drop(const struct pp_windows_job *job, uint64_t index);
/* Rows of /window for this host's ranks; to be released. -ENOMEM. */
int pp_pod_window_metadata(const struct pp_rings *r, const struct pp_pod_window *w, struct pp_window_metadata *metadata);
