/* The tick: the processor's counter where it is provably the kernel's clock, else CLOCK_MONOTONIC_RAW in ns.
 * Read by every source; only core/clock converts it, in the keeper. */
#pragma once

#include <stdint.h>
#include <time.h>

typedef uint64_t pp_tick;

enum pp_tick_kind {                     /* stands in ring files: append only */
	            PP_TICK_RAW = 0,    /* CLOCK_MONOTONIC_RAW, ns */
	            PP_TICK_TSC = 1,    /* rdtsc */
	            PP_TICK_CNTVCT = 2, /* cntvct_el0: of constant rate on all cores by the architecture */
};

/* Kind of this processor's counter; PP_TICK_RAW: it has none that we know. */
#if defined(__x86_64__)
#define PP_TICK_COUNTER PP_TICK_TSC
#elif defined(__aarch64__)
#define PP_TICK_COUNTER PP_TICK_CNTVCT
#else
#define PP_TICK_COUNTER PP_TICK_RAW
#endif

/* Set once by pp_tick_init(); read by the inline below. */
extern int pp_tick_kind __attribute__((visibility("hidden")));

/* Decide the kind from current_clocksource and, on x86, the invariant bit and cpuinfo flags. Idempotent, any thread, no
 * allocation. PODPROF_TICK=raw forces CLOCK_MONOTONIC_RAW. */
void pp_tick_init(void);

static inline pp_tick pp_tick_raw(void)
{
	struct timespec t;

	/* may call clock_gettime: the vDSO, no system call where the kernel allows it */
	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return (pp_tick)t.tv_sec * 1000000000u + (pp_tick)t.tv_nsec;
}

/* The processor's counter, whatever the kind. Like rdtsc it is not ordered against loads and stores around it. */
static inline pp_tick pp_tick_counter(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	pp_tick t;

	__asm__ __volatile__("mrs %0, cntvct_el0" : "=r"(t));
	return t;
#else
	return pp_tick_raw();
#endif
}

/* The same, ordered after the instructions before it. */
static inline pp_tick pp_tick_counter_after(void)
{
#if defined(__x86_64__)
	__builtin_ia32_lfence();
#elif defined(__aarch64__)
	__asm__ __volatile__("isb" : : : "memory");
#endif
	return pp_tick_counter();
}

static inline pp_tick pp_tick_now(void)
{
	if (__builtin_expect(pp_tick_kind != PP_TICK_RAW, 1))
		return pp_tick_counter();
	return pp_tick_raw();
}

/* The clock of one kind, for who compares clocks: ordered after the instructions before it. */
static inline pp_tick pp_tick_read(enum pp_tick_kind kind)
{
	return kind == PP_TICK_RAW ? pp_tick_raw() : pp_tick_counter_after();
}
