/* pp_source_ops: ways in. In: the application's calls. Out: records, through ring/thread_ring.h or source/emit.h.
 * A new source is one file and one line in source_list.def; one in a library of its own, as MPI's (mpi/), is added by
 * podprof_collector.add_source.
 *
 * A source with a thread of its own (a device's buffers that are full):
 * - start() makes the thread, with all signals blocked; stop() ends it and waits for it until its deadline at most. After that it
 *   writes nothing. A forked child does not have the thread: where the child becomes a rank itself, start() is called there again.
 * - The thread writes its records itself, so that each ring keeps its one writer. Ticks are pp_tick_now()'s, never
 *   a device's own.
 * - flush() hands the thread what is there and waits by a timed wait, under no lock that a callback of the application may hold.
 * - window(0) comes after flush(): what arrives later belongs to no window, and the thread sleeps until window(1). */
#pragma once

#include <stdint.h>

struct pp_source_ops {       /* const, valid for the life of the process */
	const char *name;    /* Required: "nvtx" */
	void (*start)(void); /* Optional: this process has become the rank; its ring file exists, nothing is recorded yet */
	/* Optional: recording is on from now (1), or off (0). Any thread, perhaps in a signal handler: no lock, no wait. */
	void (*window)(int on);
	/* Optional: recording goes off, or the process ends: write what is held back. Returns by `deadline_ms` (pp_now_ms()), done
	 * or not. On the thread that makes it go off, as window(). */
	void (*flush)(int64_t deadline_ms);
	void (*thread_end)(void);          /* Optional: this thread ends: write what is held back of it */
	void (*stop)(int64_t deadline_ms); /* Optional: the process ends well; last chance to record */
};

/* Of another library, once it knows that this process is the rank: it has started by itself. 0, or -ENOSPC. */
int pp_source_add(const struct pp_source_ops *source);

/* The ops above, of every source: those of source_list.def in their order, then the added ones. Called by collector.c. */
void pp_sources_start(void);
void pp_sources_window(int on);
void pp_sources_flush(int64_t deadline_ms);
void pp_sources_thread_end(void);
void pp_sources_stop(int64_t deadline_ms);
