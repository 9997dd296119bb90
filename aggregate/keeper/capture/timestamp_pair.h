/* Timestamps in both kinds of tick, and timestamps before them. In: the clocks. Out: ticks as a ring counts them. Called by
 * request*.c, slow.c and keeper.c. */
#pragma once

#include <stdint.h>

#include "core/ring/ring_file.h"

struct pp_timestamp_pair {
	pp_tick counter; /* the processor's */
	int64_t raw_ns;  /* CLOCK_MONOTONIC_RAW */
};

/* Reads the clocks of this host now. */
struct pp_timestamp_pair pp_timestamp_pair_now(void);
/* `ns` before `now`. The time from `origin` to `now` gives the counter's rate; where they are less than 10 ms apart it returns
 * `origin`. */
struct pp_timestamp_pair pp_timestamp_pair_before(const struct pp_timestamp_pair *now, const struct pp_timestamp_pair *origin,
                                                  int64_t ns);
/* In ticks of this ring. */
int64_t pp_timestamp_pair_tick(const struct pp_timestamp_pair *m, const struct pp_ring_header *h);
/* From a tick of this ring to the pair, in ns. */
int64_t pp_timestamp_pair_since(const struct pp_timestamp_pair *m, const struct pp_timestamp_pair *origin,
                                const struct pp_ring_header *h, int64_t tick);
