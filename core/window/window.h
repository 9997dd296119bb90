/* Decides which steps are recorded: pure states, no clock, no I/O. In: step numbers. Out: recording on or off, the window's
 * state. One labelled edge step is recorded on each side: [first - 1, last]. Before the first mark everything is recorded. */
#pragma once

#include <stdint.h>

enum pp_window_state { PP_WINDOW_BEFORE, PP_WINDOW_INSIDE, PP_WINDOW_PASSED };

struct pp_window {
	int64_t first, last; /* requested steps [first, last); last <= first: no window, all is recorded */
	enum pp_window_state state;
	int recording;
	int edge_open; /* inside the edge step after the window */
};

/* Recording is on until the first step. */
void pp_window_init(struct pp_window *w, int64_t first, int64_t last);
/* Has it steps, or is all recorded? */
int pp_window_asked(const struct pp_window *w);
/* Step `number` begins; returns whether it is recorded. Numbers that go back after the window has passed stay unrecorded. */
int pp_window_begin(struct pp_window *w, int64_t number);
/* A step of this number or above ends recording; INT64_MAX: none does. */
int64_t pp_window_ends_from(const struct pp_window *w);
/* The current step ends; returns whether recording goes on. */
int pp_window_end(struct pp_window *w);
