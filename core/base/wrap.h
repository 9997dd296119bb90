/* Sums of times that another process wrote: they wrap around instead of overflowing. Used by aggregate/. */
#pragma once

#include <stdint.h>

static inline int64_t pp_wrap_plus(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static inline int64_t pp_wrap_minus(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a - (uint64_t)b);
}

static inline void pp_wrap_add(int64_t *sum, int64_t more)
{
	*sum = pp_wrap_plus(*sum, more);
}
