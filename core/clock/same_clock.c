/* Decides whether two hosts share one clock; see same_clock.h. Called by the keeper. */
#include "core/clock/same_clock.h"

void pp_same_clock_init(struct pp_same_clock *s)
{
	*s = (struct pp_same_clock){.low = INT64_MIN, .high = INT64_MAX};
}

void pp_same_clock_trip(struct pp_same_clock *s, int64_t x_out, int64_t y_in, int64_t y_out, int64_t x_in)
{
	int64_t low, high;

	/* One tick each way: a reading may be behind by the counter's resolution. Counters of cores differ by less. */
	if (__builtin_sub_overflow(y_out, x_in, &low) || __builtin_sub_overflow(y_in, x_out, &high) || low == INT64_MIN ||
	    high == INT64_MAX)
		return;
	low--;
	high++;
	s->low = low > s->low ? low : s->low;
	s->high = high < s->high ? high : s->high;
	s->trips++;
}

enum pp_same_verdict pp_same_clock_verdict(const struct pp_same_clock *s, int64_t limit)
{
	int64_t width;

	if (!s->trips)
		return PP_SAME_UNKNOWN;
	if (s->low > 0 || s->high < 0)
		return PP_SAME_FALSE;
	return __builtin_sub_overflow(s->high, s->low, &width) || width > limit ? PP_SAME_UNKNOWN : PP_SAME_POSSIBLE;
}
