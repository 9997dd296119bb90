/* Windows that end while ranks go on. In: drained rings, a capture in ticks. Out: both without what is outside the window. */
#pragma once

#include "aggregate/read/ring/rings.h"
#include "core/capture/capture.h"

/* Drops what ended at tick `cut` or before; open spans stay. Losses and records count from here again, except for spans that
 * stay. */
void pp_rings_drop(struct pp_rings *r, size_t index, int64_t cut);

/* The same for what ended in ticks [from, to]. */
void pp_rings_drop_between(struct pp_rings *r, size_t index, int64_t from, int64_t to);

/* The same for a window that never closes: what was there before `cut` counts as evicted. */
void pp_rings_keep(struct pp_rings *r, size_t index, int64_t cut);

/* After pp_rings_finish(): keeps what lies in ticks [from, to]. Ranges across an edge are clipped there (CUT_BEGIN, CUT_END);
 * MPI calls across one are dropped, and so are steps and requests that began before `from`. recorded_from and recorded_to are
 * clipped too. 0, or -ENOMEM. */
int pp_rank_cut(struct pp_rank *rank, int64_t from, int64_t to);

/* The same from `from` on, for a window that never closes: what was before it was recorded, and counts as evicted. */
int pp_rank_keep(struct pp_rank *rank, int64_t from);
