/* Time for deadlines: CLOCK_MONOTONIC in ms. Used by collector, keeper and CLI; any thread. */
#pragma once

#include <stdint.h>
#include <time.h>

static inline int64_t pp_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}
