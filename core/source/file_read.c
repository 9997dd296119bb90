/* Finds libpodprof-io.so and asks it; see file_read.h. */
#include "core/source/file_read.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>

#include "core/io/io.h"
#include "core/ring/wiped.h"

static _Atomic(const struct podprof_io *) io; /* NULL: not started */

static int is_wanted(void)
{
	return atomic_load_explicit(&pp_wiped.recording, memory_order_relaxed) ||
	       !atomic_load_explicit(&pp_wiped.is_rank, memory_order_relaxed);
}

int pp_file_reads_start(uint64_t (*now)(void))
{
	const struct podprof_io *found = dlsym(RTLD_DEFAULT, "podprof_io");

	if (!found)
		return 0;
	found->start(is_wanted, now);
	atomic_store_explicit(&io, found, memory_order_release);
	return 1;
}

static const struct podprof_io *started(void)
{
	return atomic_load_explicit(&io, memory_order_acquire);
}

uint64_t pp_file_reads(void)
{
	return started() ? started()->reads() : 0;
}

uint64_t pp_file_reads_of_all(void)
{
	return started() ? started()->reads_of_all() : 0;
}

uint64_t pp_file_read_ticks(void)
{
	return started() ? started()->ticks() : 0;
}

uint64_t pp_file_read_ticks_of_all(void)
{
	return started() ? started()->ticks_of_all() : 0;
}
