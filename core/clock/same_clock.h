/* Verifies that two hosts with equal boot id and tick kind share one clock; a cloned virtual machine has its original's boot id
 * and another clock. Called by the keeper. In: round trips between them. Out: the offsets that remain possible if both read one
 * clock: 0 must be among them. No I/O. */
#pragma once

#include <stdint.h>

enum pp_same_verdict {
	PP_SAME_UNKNOWN,  /* no round trip yet, or none short enough */
	PP_SAME_POSSIBLE, /* 0 is among the offsets, which are narrower than the limit */
	PP_SAME_FALSE,    /* it is not among them: two clocks */
};

struct pp_same_clock {
	int64_t low, high; /* their tick less ours: intersection of all trips, at rate 1 without drift */
	uint32_t trips;
};

/* No trip yet. */
void pp_same_clock_init(struct pp_same_clock *s);
/* Our tick at sending, theirs at receiving and replying, ours at receiving. All trips of the job count, so a slow drift is
 * found too. */
void pp_same_clock_trip(struct pp_same_clock *s, int64_t x_out, int64_t y_in, int64_t y_out, int64_t x_in);
/* `limit`: ticks; a wider interval proves nothing. */
enum pp_same_verdict pp_same_clock_verdict(const struct pp_same_clock *s, int64_t limit);
