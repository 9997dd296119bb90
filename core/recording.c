/* Recording on and off; see recording.h. Called by collector.c, window/trigger.c and libpodprof-mpi.so. */
#include "core/recording.h"

#include <stdatomic.h>
#include <stdint.h>

#include "core/base/now.h"
#include "core/coord/self.h"
#include "core/ring/thread_ring.h"
#include "core/source/source_list.h"

enum { WANTED = 1, PAUSED = 2 };

/* Deadline of the sources' flush during the application's step. Only what devices still have to run takes long, and the program
 * waits for that sooner or later. */
enum { FLUSH_MS = 2000 };

static _Atomic uint32_t switched_on;
static _Atomic uint32_t wanted; /* WANTED, PAUSED */

/* The window decides; the application's pause counts only inside it. Two threads may decide at once: a thread that finds that
 * another one did meanwhile decides again. */
static void decide(uint32_t now)
{
	for (;;) {
		uint32_t done = now;
		int on = done == WANTED;

		if (on != (atomic_load(&pp_wiped.recording) != 0)) {
			uint32_t n = on ? atomic_fetch_add(&switched_on, 1) + 1 : 0;

			if (!on)
				pp_sources_flush(pp_now_ms() + FLUSH_MS);
			pp_ring_set_recording(pp_ring_pool.header, (uint32_t)on);
			atomic_store(&pp_wiped.recording, n);
			pp_sources_window(on);
		}
		now = atomic_load(&wanted);
		if (now == done)
			return;
	}
}

static void set(uint32_t bit, int on)
{
	decide(on ? atomic_fetch_or(&wanted, bit) | bit : atomic_fetch_and(&wanted, ~bit) & ~bit);
}

void pp_recording_switch(int on)
{
	set(WANTED, on);
}

void pp_recording_pause(int paused)
{
	if (pp_self_is_rank())
		set(PAUSED, paused);
}

void pp_recording_window_over(void)
{
	pp_sources_window_over(pp_now_ms() + FLUSH_MS);
}

void pp_recording_reset(void)
{
	atomic_store(&wanted, 0);
}
