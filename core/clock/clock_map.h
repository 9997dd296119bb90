/* Ticks to job time. In: pp_span with ticks. Out: pp_span in job ns, and the bound of every domain.
 * One line per domain: job_ns = ns0 + (tick - tick0) * num / 2^shift, 128-bit product, no double. */
#pragma once

#include <stdint.h>

#include "core/base/err.h"
#include "core/base/tick.h"
#include "core/step/span.h"

struct pp_clock_pair { /* one sandwiched reading of tick, RAW and realtime */
	pp_tick tick;
	int64_t raw_ns, realtime_ns;
	int64_t width_ns; /* half the width of the sandwich: |error| of raw_ns against tick */
};

struct pp_pieces;

struct pp_clock_map {
	pp_tick tick0;
	int64_t ns0;  /* job ns at tick0 */
	uint64_t num; /* ns per tick * 2^shift */
	uint32_t shift;
	int64_t bound_ns; /* |error| of a difference of two times of this domain */
	/* Where it is not NULL, ticks go through it: another domain's clock, compared with the one that the line is of. */
	const struct pp_pieces *pieces;
};

/* Narrowest of many readings. */
void pp_clock_read_pair(enum pp_tick_kind kind, struct pp_clock_pair *ret_pair);

/* Ticks a ns by two sandwiched readings that far apart; within (wa + wb) / apart. */
double pp_clock_rate(enum pp_tick_kind kind, const struct pp_clock_pair *a, const struct pp_clock_pair *b);

/* Line through two pairs, job ns 0 at `epoch`. RAW ticks map 1:1. Error: the pairs are less than 1 ms apart. */
int pp_clock_map_init(struct pp_clock_map *m, enum pp_tick_kind kind, const struct pp_clock_pair *a, const struct pp_clock_pair *b,
                      pp_tick epoch, struct pp_err *err);

int64_t pp_clock_map_ns(const struct pp_clock_map *m, pp_tick tick);
/* The way back: the first tick that is `ns` or later. */
pp_tick pp_clock_map_tick(const struct pp_clock_map *m, int64_t ns);

/* In place: begin, end of every span, first and last of every thread, horizon, open_tick and recorded_* of the rank. */
void pp_clock_map_rank(const struct pp_clock_map *m, struct pp_rank *rank);
