/* Windows that the program requests via the API, by podprof_window_start() and podprof_profile_steps(): pure states and their
 * rows in the header. In: calls, steps, ticks. Out: recording or not. Driven by trigger.c, under its lock. */
#pragma once

#include <stdint.h>

#include "core/base/step_windows.h"
#include "core/ring/ring_file.h"
#include "core/window/window.h"

struct pp_api_windows {
	struct pp_ring_header *header;
	uint64_t count; /* windows requested so far */
	uint64_t open;  /* 1 + index of the window between start and stop; 0: none */
	int steps;      /* windows of steps that are not over, ascending */
	struct {
		struct pp_window window;
		uint64_t place;
	} step[PP_STEP_WINDOWS];
};

enum pp_api_steps_answer { PP_API_STEPS_TAKEN, PP_API_STEPS_EMPTY, PP_API_STEPS_LATE, PP_API_STEPS_OVERLAPS, PP_API_STEPS_FULL };

/* At the claim. `header`: this rank's, which it keeps; no row is written yet. */
void pp_api_windows_init(struct pp_api_windows *b, struct pp_ring_header *header);
/* A window opens now. name: NULL is "". */
void pp_api_windows_start(struct pp_api_windows *b, const char *name, pp_tick tick);
/* Ends the open window; call it after the window's last record. */
void pp_api_windows_stop(struct pp_api_windows *b, pp_tick tick);
/* here: the step that this rank is in. asked: windows of the options, which the new one may not overlap. */
enum pp_api_steps_answer pp_api_windows_steps(struct pp_api_windows *b, const struct pp_step_windows *asked, int64_t first,
                                              int64_t last, int64_t here);
/* Step `number` begins; the current one ends. pp_api_windows_finalise() reports windows that ended, after the last record. */
void pp_api_windows_begin(struct pp_api_windows *b, int64_t number, pp_tick tick);
void pp_api_windows_end(struct pp_api_windows *b, pp_tick tick);
void pp_api_windows_finalise(struct pp_api_windows *b);
/* Does one of them record now? */
int pp_api_windows_recording(const struct pp_api_windows *b);
/* Is step `number` inside one of them, and not only at its edge? */
int pp_api_windows_has(const struct pp_api_windows *b, int64_t number);
/* A mark of this number or above ends recording for a window of steps; INT64_MAX: none does. */
int64_t pp_api_windows_ends_from(const struct pp_api_windows *b);
/* Marks of steps below this one change nothing. INT64_MIN: every mark may. */
int64_t pp_api_windows_next_edge(const struct pp_api_windows *b);
/* 1: a window of steps is over, and pp_api_windows_finalise() has not seen it. */
int pp_api_windows_passed(const struct pp_api_windows *b);
