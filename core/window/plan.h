/* The windows of one rank, one after the other: pure states, no clock, no I/O. In: step numbers with their ticks. Out: recording on
 * or off, and a row for every window that began. A window's ticks go from the edge step before it to the end of the edge step
 * after it, so those of two that stand close overlap. */
#pragma once

#include "core/base/step_windows.h"
#include "core/ring/ring_file.h"
#include "core/window/window.h"

struct pp_plan {
	struct pp_step_windows asked;
	struct pp_window now;      /* the current window */
	uint64_t passed;           /* windows that are over: the current one's index */
	int started, next_started; /* the current one, the one behind it: rows are written */
	int over;                  /* no window is left */
	pp_tick step_tick;         /* begin of the step that is open, where it is recorded; 0 */
	struct pp_window_row *row; /* [PP_WINDOW_ROWS] */
};

void pp_plan_init(struct pp_plan *p, const struct pp_step_windows *asked, struct pp_window_row *row);
/* 0: nothing was asked for, everything is recorded. */
int pp_plan_asked(const struct pp_plan *p);
/* Marks of steps below this one change nothing, and need not be told; INT64_MIN: each does. */
int64_t pp_plan_next_edge(const struct pp_plan *p);
/* Step `number` begins, the current one ends; return whether it is, whether the next is to be recorded. */
int pp_plan_begin(struct pp_plan *p, int64_t number, pp_tick tick);
int pp_plan_end(struct pp_plan *p, pp_tick tick);
