/* Measured values that can be unknown: PP_UNKNOWN, of doubles NAN. Sums, minima and maxima are of what is known, and unknown only
 * where nothing is. Pure. Used by aggregate/. */
#pragma once

#include <math.h>
#include <stdint.h>

#include "core/base/wrap.h"

#define PP_UNKNOWN INT64_MIN

static inline int pp_is_known(int64_t value)
{
	return value != PP_UNKNOWN;
}

static inline int64_t pp_known_or(int64_t value, int64_t other)
{
	return value == PP_UNKNOWN ? other : value;
}

static inline double pp_known_real(int64_t value)
{
	return value == PP_UNKNOWN ? (double)NAN : (double)value;
}

/* A sum begins as PP_UNKNOWN, or as 0 where no part is 0. */
static inline void pp_known_add(int64_t *sum, int64_t more)
{
	if (more != PP_UNKNOWN)
		*sum = *sum == PP_UNKNOWN ? more : pp_wrap_plus(*sum, more);
}

/* The mean of what is shown to people: to the nearest, as the page rounds. Unknown of what is unknown, and of nothing. */
static inline int64_t pp_known_mean(int64_t sum, int64_t n)
{
	int64_t rest;

	if (sum == PP_UNKNOWN || n <= 0)
		return PP_UNKNOWN;
	rest = sum % n < 0 ? -(sum % n) : sum % n;
	return sum / n + (rest >= n - rest ? (sum < 0 ? -1 : 1) : 0);
}

/* A part of it, towards 0: unknown of what is unknown. */
static inline int64_t pp_known_part(int64_t value, int64_t parts)
{
	return value == PP_UNKNOWN || !parts ? PP_UNKNOWN : value / parts;
}
