/* Where a window begins, and the date of the job's epoch for it. Called by session.c.
 * In: spans in job ns. Out: epoch_realtime_ns. */
#pragma once

#include "core/clock/clock_map.h"
#include "core/clock/wall.h"
#include "core/step/span.h"
#include "core/step/step_mark.h"

/* The first begin of a step, job ns; 0: there are none. */
int64_t pp_epoch_window_begin(const struct pp_capture *c, const struct pp_steps *steps);
/* Dates the epoch so that absolute dates are those of this host's wall clock at the window's begin (of its steps, else of its
 * records), however the clock was set before or since. Where the clock was not watched c->epoch_realtime_ns stays. */
void pp_epoch_take(struct pp_capture *c, const struct pp_steps *steps, const struct pp_clock_map *clock, struct pp_wall *wall);
