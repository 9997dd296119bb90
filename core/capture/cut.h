/* Cuts a rank to a window. In: its spans and side arrays in ticks, as read. Out: those of the window; of a side array, what its
 * row in side.def keeps. */
#pragma once

#include <stdint.h>

struct pp_rank;

/* Keeps what lies in ticks [from, to]. Ranges across an edge are clipped there (CUT_BEGIN, CUT_END);
 * MPI calls across one are dropped, and so are steps and requests that began before `from`. recorded_from and recorded_to are
 * clipped too. 0, or -ENOMEM. */
int pp_rank_cut(struct pp_rank *rank, int64_t from, int64_t to);

/* The same from `from` on, for a window that never closes: what was before it was recorded, and counts as evicted. */
int pp_rank_keep(struct pp_rank *rank, int64_t from);
