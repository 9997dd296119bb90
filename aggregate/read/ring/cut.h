/* Windows that end while ranks go on. In: drained rings, a capture in ticks. Out: both without what is not the window's. */
#pragma once

#include "aggregate/read/ring/rings.h"

/* What ended at tick `cut` or before goes; what is open stays open. Losses count anew from here, and so do records, but for spans
 * that stay. */
void pp_rings_drop(struct pp_rings *r, size_t index, int64_t cut);

/* The same, of what ended in ticks [from, to]. */
void pp_rings_drop_between(struct pp_rings *r, size_t index, int64_t from, int64_t to);

/* The same, of a window that never closes: what was there before `cut` is no longer held. */
void pp_rings_keep(struct pp_rings *r, size_t index, int64_t cut);

/* After pp_rings_finish(): keep what lies in ticks [from, to]. Ranges across an edge are clipped there (CUT_BEGIN, CUT_END); MPI
 * calls across one are left out, and so are steps and requests that began before `from`.
 * What was recorded ends there too. 0, or -ENOMEM. */
int pp_rank_cut(struct pp_rank *rank, int64_t from, int64_t to);

/* The same from `from` on, of a window that never closes: what was before it was recorded too, and is no longer held. */
int pp_rank_keep(struct pp_rank *rank, int64_t from);
