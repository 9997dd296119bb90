/* Clocks and pauses. Used by collector, keeper and CLI; any thread. */
#pragma once

#include <stdint.h>
#include <time.h>

static inline int64_t pp_clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* For deadlines. */
static inline int64_t pp_now_ms(void)
{
	return pp_clock_ns(CLOCK_MONOTONIC) / 1000000;
}

/* A signal may end it early. */
static inline void pp_nap_ms(int64_t ms)
{
	struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	nanosleep(&t, NULL);
}
