/* Do two hosts that say so share one clock? Called by the keeper for keepers with equal boot id and tick.
 * In: round trips between them. Out: the offsets that remain possible if both count one clock: 0 must be among them. A clone of a
 * virtual machine has its original's boot id and another clock. No I/O. */
#pragma once

#include <stdint.h>

enum pp_same_verdict {
	PP_SAME_UNKNOWN,  /* no round trip yet, or none short enough to tell */
	PP_SAME_POSSIBLE, /* 0 is among the offsets, which are narrower than the limit */
	PP_SAME_FALSE,    /* it is not: two clocks */
};

struct pp_same_clock {
	int64_t low, high; /* theirs less ours, ticks: the intersection of all trips, at rate 1 and no drift */
	uint32_t trips;
};

void pp_same_clock_init(struct pp_same_clock *s);
/* Our tick when it left, theirs when it came and left, ours when it came. All trips of the job count: a clock that drifts away is
 * caught however slowly it does. */
void pp_same_clock_trip(struct pp_same_clock *s, int64_t x_out, int64_t y_in, int64_t y_out, int64_t x_in);
/* `limit`: ticks; an interval that is wider proves nothing. */
enum pp_same_verdict pp_same_clock_verdict(const struct pp_same_clock *s, int64_t limit);
