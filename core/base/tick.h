/* The tick: the TSC where it is provably the kernel's clock, else CLOCK_MONOTONIC_RAW in ns.
 * Read by every source; only core/clock converts it, in the keeper. */
#ifndef PP_BASE_TICK_H
#define PP_BASE_TICK_H

#include <stdint.h>
#include <time.h>

typedef uint64_t pp_tick;

enum pp_tick_kind {
	PP_TICK_RAW = 0, /* CLOCK_MONOTONIC_RAW, ns */
	PP_TICK_TSC = 1, /* rdtsc */
};

/* Set once by pp_tick_init(); read by the inline below. */
extern int pp_tick_kind __attribute__((visibility("hidden")));

/* Decide the kind from current_clocksource, the invariant bit and cpuinfo flags. Idempotent, any thread, no
 * allocation. PODPROF_TICK=raw forces CLOCK_MONOTONIC_RAW. */
void pp_tick_init(void);

static inline pp_tick pp_tick_raw(void)
{
	struct timespec t;

	/* may call clock_gettime: the vDSO, no system call where the kernel can help it */
	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return (pp_tick)t.tv_sec * 1000000000u + (pp_tick)t.tv_nsec;
}

static inline pp_tick pp_tick_now(void)
{
#if defined(__x86_64__)
	if (__builtin_expect(pp_tick_kind == PP_TICK_TSC, 1))
		return __builtin_ia32_rdtsc();
#endif
	return pp_tick_raw();
}

#endif
