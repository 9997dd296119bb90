/* When recording begins before a window, so that sources that need time to start have all of the window: pure states, no clock, no
 * I/O. In: step marks with their times, the window's edge. Out: on or off. Driven by trigger.c. */
#pragma once

#include <stdint.h>

struct pp_warm {
	int64_t steps;      /* before the edge; -1: as many as the time takes that sources need, two at least */
	int64_t number, ms; /* of the last mark that was looked at */
	int64_t next;       /* a mark of this number, or above, is to be looked at; INT64_MIN: every one */
	double step_ms;     /* length of a step; 0: not known yet */
	int is_seen, on;
};

/* steps: as in the struct. */
void pp_warm_init(struct pp_warm *w, int64_t steps);
/* The edge has changed: the next mark is looked at. */
void pp_warm_again(struct pp_warm *w);
/* Step `number` begins at `ms`; recording for a window begins with step `edge` (INT64_MAX: none is known). need_ms: what the
 * slowest source needs, 0: none does now. Returns w->on. */
int pp_warm_mark(struct pp_warm *w, int64_t number, int64_t ms, int64_t edge, int64_t need_ms);
