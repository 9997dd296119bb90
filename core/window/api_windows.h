/* Windows that the program asks for, podprof_window_start() and podprof_profile_steps(): pure states and their rows in the header.
 * In: calls, steps, ticks. Out: recording or not. Driven by trigger.c, under its lock. */
#pragma once

#include <stdint.h>

#include "core/base/step_windows.h"
#include "core/ring/ring_file.h"
#include "core/window/window.h"

struct pp_api_windows {
	struct pp_ring_header *header;
	uint64_t count; /* windows that were asked for so far */
	uint64_t open;  /* 1 + the place of the one between start and stop; 0: there is none */
	int steps;      /* windows of steps that are not over, ascending */
	struct {
		struct pp_window window;
		uint64_t place;
	} step[PP_STEP_WINDOWS];
};

enum pp_api_steps_answer { PP_API_STEPS_TAKEN, PP_API_STEPS_EMPTY, PP_API_STEPS_LATE, PP_API_STEPS_OVERLAPS, PP_API_STEPS_FULL };

void pp_api_windows_init(struct pp_api_windows *b, struct pp_ring_header *header);
/* A window opens now. name: NULL is "". */
void pp_api_windows_start(struct pp_api_windows *b, const char *name, pp_tick tick);
/* It is over; after its last record. */
void pp_api_windows_stop(struct pp_api_windows *b, pp_tick tick);
/* here: the step that this rank is in. asked: windows of the options, which it may not overlap. */
enum pp_api_steps_answer pp_api_windows_steps(struct pp_api_windows *b, const struct pp_step_windows *asked, int64_t first,
                                              int64_t last, int64_t here);
/* Step `number` begins; the current one ends. What is over then is said by pp_api_windows_finalise(), after the last record. */
void pp_api_windows_begin(struct pp_api_windows *b, int64_t number, pp_tick tick);
void pp_api_windows_end(struct pp_api_windows *b, pp_tick tick);
void pp_api_windows_finalise(struct pp_api_windows *b);
int pp_api_windows_recording(const struct pp_api_windows *b);
/* Is step `number` in one of them, not only at an edge? */
int pp_api_windows_has(const struct pp_api_windows *b, int64_t number);
/* A mark of this number, or above, would end what is recorded for one of its windows of steps; INT64_MAX: none would. */
int64_t pp_api_windows_ends_from(const struct pp_api_windows *b);
/* Steps below this one change nothing. INT64_MIN: every mark is to be looked at. */
int64_t pp_api_windows_next_edge(const struct pp_api_windows *b);
