/* The wall clock of a host against its tick: absolute dates for files, ticks for dates in other tools' traces, and the list of
 * its steps. Called by the keeper about once a second and at the edges of windows. In: readings of the clocks between two of
 * the tick (wall_read.c takes them). Out: eras without a step, each a chain of lines from realtime ns to ticks, and the steps.
 * Fixed memory, no I/O, one thread. */
#pragma once

#include <stdint.h>

#include "core/base/err.h"
#include "core/base/tick.h"
#include "core/clock/band.h"
#include "core/clock/pieces.h"

enum { PP_WALL_STEPS = 64, PP_WALL_ERAS = 8 };

struct pp_wall_sample {
	int64_t tick_before, tick_after; /* the three clocks were read between them */
	int64_t realtime_ns, monotonic_ns, boottime_ns;
};

struct pp_clock_claim { /* what NTP or PTP on a host says of the date; shown, not used */
	int8_t known, synchronised;
	int64_t error_ns, error_most_ns, frequency_ppb;
	char by[64]; /* "kernel", and the daemon where one is seen to run: "kernel, chronyd" */
};

enum pp_wall_event {
	PP_WALL_STEPPED,   /* realtime against BOOTTIME: the date was set, or a leap second. NTP's slewing and sleep move both */
	PP_WALL_SUSPENDED, /* BOOTTIME against MONOTONIC: the host slept */
};

struct pp_wall_step {
	enum pp_wall_event event;
	int64_t tick_after_which, tick_before_which; /* it happened between them */
	int64_t by_ns, error_ns;                     /* forward is positive; |error| of by_ns */
};

struct pp_wall_era {
	int64_t realtime_first, realtime_last;
	int64_t tick_first, tick_last; /* ticks of its first and last reading */
	struct pp_band band;           /* realtime ns to ticks */
};

struct pp_wall {
	double ticks_per_ns;
	struct pp_wall_sample last;
	uint64_t samples;
	struct pp_wall_step step[PP_WALL_STEPS];
	uint32_t steps, steps_lost; /* lost: steps seen and dropped, the oldest ones */
	struct pp_wall_era era[PP_WALL_ERAS];
	uint32_t eras, eras_lost;
	struct pp_err err;
};

/* No sample yet. -EINVAL: the rate is not known. */
int pp_wall_init(struct pp_wall *w, double ticks_per_ns, struct pp_err *err);
/* Frees the eras. */
void pp_wall_release(struct pp_wall *w);
/* 1: a step or a suspend since the sample before. -ENOMEM: no memory for a new era. */
int pp_wall_add(struct pp_wall *w, const struct pp_wall_sample *s);
/* The chain of the latest era that holds the date, else of the nearest. -ERANGE: that era was dropped. */
int pp_wall_pieces(struct pp_wall *w, int64_t realtime_ns, int64_t beyond_ns, struct pp_pieces *ret, struct pp_err *err);

/* The date that the host showed at `tick`: by the era that holds it, of two by the earlier. |error| against the host's own
 * clock. */
int pp_wall_date(struct pp_wall *w, int64_t tick, int64_t *ret_realtime_ns, int64_t *ret_error_ns, struct pp_err *err);
