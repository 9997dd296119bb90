/* How this host's ranks took part in one window, for /window. In: headers of rings, the keeper's notes. Out: ticks, or job ns.
 * Called by close.c, windows.c and request.c. */
#pragma once

#include "aggregate/dataset/dataset.h"
#include "aggregate/read/ring/rings.h"
#include "core/clock/clock_map.h"

/* Fills the times of one ring, preset to PP_WINDOW_NEVER; `ring` is its index. */
typedef void pp_window_rows_of(const struct pp_ring_header *h, size_t ring, const void *context, struct pp_window_rank *rank);

/* Makes a row for each rank that has a ring, from its last one, and adds them to `metadata`. 0, or -ENOMEM. */
int pp_window_rows_make(const struct pp_rings *r, pp_window_rows_of *of, const void *context, struct pp_window_metadata *metadata);
/* For pp_window_rows_make(): the window of the options, or all that was recorded where none was requested. context: NULL. */
void pp_window_rows_of_options(const struct pp_ring_header *h, size_t ring, const void *context, struct pp_window_rank *rank);
/* For pp_window_rows_make(): window `index` of --steps; context: uint64_t. */
void pp_window_rows_of_window(const struct pp_ring_header *h, size_t ring, const void *context, struct pp_window_rank *rank);

/* Maps ticks to job ns, by the clock of each rank; `other` may be NULL. */
void pp_window_rows_map(struct pp_window_metadata *metadata, const struct pp_capture *c, const struct pp_clock_map *map,
                        const struct pp_clock_map *other);
