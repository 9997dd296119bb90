/* Windows that end while ranks go on. In: drained rings. Out: the same without what is outside the window. */
#pragma once

#include "aggregate/read/ring/rings.h"

/* Drops what ended at tick `cut` or before; open spans stay. Losses and records count from here again, except for spans that
 * stay. */
void pp_rings_drop(struct pp_rings *r, size_t index, int64_t cut);

/* The same for what ended in ticks [from, to]. */
void pp_rings_drop_between(struct pp_rings *r, size_t index, int64_t from, int64_t to);

/* The same for a window that never closes: what was there before `cut` counts as evicted. */
void pp_rings_keep(struct pp_rings *r, size_t index, int64_t cut);
