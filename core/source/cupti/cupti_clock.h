/* From CUPTI's nanoseconds to ticks: lines between pairs that were read at one moment. Pure: no clock is read here. The wall
 * clock that CUPTI uses may be set: an interval whose ns do not fit the monotonic clock has a jump. One thread. */
#pragma once

#include <stdint.h>

#include "core/base/tick.h"

struct pp_cupti_pair {
	pp_tick tick;
	int64_t ns;       /* cuptiGetTimestamp() */
	int64_t raw;      /* CLOCK_MONOTONIC_RAW, ns */
	int64_t width_ns; /* how long the reading took: tick and ns are of one moment in it */
};

enum { PP_CUPTI_PAIRS = 128 };

struct pp_cupti_clock {
	struct pp_cupti_pair pair[PP_CUPTI_PAIRS]; /* ascending ticks */
	double slope[PP_CUPTI_PAIRS];              /* ticks per ns between a pair and the one before */
	uint8_t jumped[PP_CUPTI_PAIRS];            /* between a pair and the one before */
	uint32_t pairs, last;                      /* last: the pair after the last time asked for */
	uint32_t jumps;                            /* so far */
	int64_t error_ns;                          /* largest |error| of a mapped time so far, but near jumps: see add() */
};

/* Forgets all pairs, jumps and errors. */
void pp_cupti_clock_reset(struct pp_cupti_clock *c);
/* Ticks and raw must be above those of the last pair; a pair that is not is left out. The error is that of a reading, and how far a
 * pair lies from the line between its neighbours: the line from one to the next is off by less. CUPTI's own error is not in it. */
void pp_cupti_clock_add(struct pp_cupti_clock *c, const struct pp_cupti_pair *pair);
/* time: ns of CUPTI. 1, or 0: fewer than two pairs, or a time farther than 10 s from all of them, which is no time of a record. */
int pp_cupti_clock_map(struct pp_cupti_clock *c, uint64_t time, pp_tick *ret_tick);
