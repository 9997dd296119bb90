/* The windows of one rank, one after the other: pure states, no clock, no I/O. In: step numbers with their ticks. Out:
 * recording on or off, and a row for every window that began. A window's ticks reach from the edge step before it to the end of
 * the edge step after it, so those of close windows overlap. */
#pragma once

#include "core/base/step_windows.h"
#include "core/ring/ring_file.h"
#include "core/window/window.h"

struct pp_plan {
	struct pp_step_windows asked;
	struct pp_window now;      /* the current window */
	uint64_t passed;           /* windows that are over: index of the current one */
	int started, next_started; /* the rows of the current and of the next one are written */
	int over;                  /* no window is left */
	pp_tick step_tick;         /* begin of the open step, where it is recorded; 0 */
	struct pp_window_row *row; /* [PP_WINDOW_ROWS] */
};

/* At the claim. Copies `asked`; keeps `row`, the header's PP_WINDOW_ROWS rows. Recording is on until the first mark. */
void pp_plan_init(struct pp_plan *p, const struct pp_step_windows *asked, struct pp_window_row *row);
/* The steps so far were none: all is as it was at the claim. 0: a window has passed, and nothing changes. */
int pp_plan_again(struct pp_plan *p);
/* 0: no window was requested, everything is recorded. */
int pp_plan_asked(const struct pp_plan *p);
/* Marks of steps below this one change nothing; INT64_MIN: every mark may. */
int64_t pp_plan_next_edge(const struct pp_plan *p);
/* Step `number` begins, the current one ends; return whether recording goes on. */
int pp_plan_begin(struct pp_plan *p, int64_t number, pp_tick tick);
int pp_plan_end(struct pp_plan *p, pp_tick tick);
