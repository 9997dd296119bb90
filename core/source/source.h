/* pp_source_ops: what records. In: the application's calls. Out: records, through ring/thread_ring.h or source/emit.h.
 * A new source is one file and one line in source_list.def; one in a library of its own, as MPI's (mpi/), is added by
 * podprof_collector.add_source.
 *
 * A source with its own thread (as for full buffers of a device):
 * - start() makes the thread, with all signals blocked; stop() ends it and waits for it until its deadline at most. After that it
 *   writes nothing. A forked child lacks the thread: where the child becomes a rank itself, start() is called there again.
 * - The thread writes its records itself, so that each ring keeps its one writer. Ticks are pp_tick_now()'s, never
 *   a device's.
 * - flush() hands the thread what is there, with a timed wait and under no lock that an application's callback may hold.
 * - window(0) comes after flush(): what arrives later belongs to no window, and the thread sleeps until window(1). */
#pragma once

#include <stdint.h>

struct pp_source_ops {       /* const, valid for the life of the process */
	const char *name;    /* Required: "nvtx" */
	void (*start)(void); /* Optional: this process has become the rank; its ring file exists, nothing is recorded yet */
	/* Optional: recording is on from now (1), or off (0). Any thread, perhaps in a signal handler: no lock, no wait. */
	void (*window)(int on);
	/* Optional: how long before a window it must be on to have all of it, ms; 0: it need not be now */
	int64_t (*warm_ms)(void);
	/* Optional: recording goes off, or the process ends: write what is held back. Returns by `deadline_ms` (pp_now_ms()), done
	 * or not. On the thread that switches recording off, as window(). */
	void (*flush)(int64_t deadline_ms);
	/* Optional: a window is over and recording goes on: as flush(), and stay on. */
	void (*window_over)(int64_t deadline_ms);
	void (*thread_end)(void);          /* Optional: this thread ends: write what it held back */
	void (*stop)(int64_t deadline_ms); /* Optional: the process ends well; last chance to record */
};
