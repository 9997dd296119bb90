/* libpodprof-io.so, preloaded with --io yes: reads of files by libc's functions, in front of which it stands. In: calls of the
 * application, on any thread, also in signal handlers. Out: how many of them read a regular file, for the collector, which finds
 * the table by dlsym(RTLD_DEFAULT, "podprof_io"). A call returns what libc's returns, with its errno, and is cancelled as it. */
#pragma once

#include <stdint.h>

struct podprof_io {
	/* From now on reads are counted, if is_wanted() at each; now: a clock, ticks. Both are called on any thread. */
	void (*start)(int (*is_wanted)(void), uint64_t (*now)(void));
	/* How many reads of files that returned data this thread has made; of all: one may be missing where two end at once. */
	uint64_t (*reads)(void);
	uint64_t (*reads_of_all)(void);
	/* Time in them, ticks. */
	uint64_t (*ticks)(void);
	uint64_t (*ticks_of_all)(void);
};

extern const struct podprof_io podprof_io;
