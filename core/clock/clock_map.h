/* Maps ticks to job time. In: pp_span with ticks. Out: pp_span in job ns, and the bound of every domain. One line per domain:
 * job_ns = ns0 + (tick - tick0) * num / 2^shift, 128-bit product, no double. */
#pragma once

#include <stdint.h>

#include "core/base/err.h"
#include "core/base/tick.h"

struct pp_rank;

struct pp_clock_pair { /* one reading of RAW and realtime between two of the tick */
	pp_tick tick;
	int64_t raw_ns, realtime_ns;
	int64_t width_ns; /* half the time between the two ticks: |error| of raw_ns against tick */
};

struct pp_pieces;

struct pp_clock_map {
	pp_tick tick0;
	int64_t ns0;  /* job ns at tick0 */
	uint64_t num; /* ns per tick * 2^shift */
	uint32_t shift;
	int64_t bound_ns; /* |error| of a difference of two times of this domain */
	/* If not NULL, ticks also go through it: it maps this clock to the one of the line. */
	const struct pp_pieces *pieces;
};

/* Takes the narrowest of many readings. */
void pp_clock_read_pair(enum pp_tick_kind kind, struct pp_clock_pair *ret_pair);

/* Ticks per ns from two readings that far apart; error at most (wa + wb) / apart. */
double pp_clock_rate(enum pp_tick_kind kind, const struct pp_clock_pair *a, const struct pp_clock_pair *b);

/* Line through two pairs; `epoch` is job ns 0. RAW ticks map 1:1. Fails where the pairs are less than 1 ms apart. */
int pp_clock_map_init(struct pp_clock_map *m, enum pp_tick_kind kind, const struct pp_clock_pair *a, const struct pp_clock_pair *b,
                      pp_tick epoch, struct pp_err *err);

/* Job time in ns of a tick, also of one outside of the two readings. */
int64_t pp_clock_map_ns(const struct pp_clock_map *m, pp_tick tick);
/* The inverse: the first tick that maps to `ns` or later. */
pp_tick pp_clock_map_tick(const struct pp_clock_map *m, int64_t ns);

/* Maps every time of the rank in place, by pp_rank_map_times(). */
void pp_clock_map_rank(const struct pp_clock_map *m, struct pp_rank *rank);
