/* What moves the window; called by source/api.c at step marks. */
#include "core/window/trigger.h"

#include <pthread.h>
#include <stdatomic.h>

#include "core/guest.h"
#include "core/ring/thread_ring.h"
#include "core/source/emit.h"
#include "core/window/window.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct pp_window window;
static int step_open; /* a step was recorded and has not ended */

void pp_trigger_start(int64_t first, int64_t last)
{
	pp_window_init(&window, first, last);
}

/* Lock held. The step that is open in the rings ends where recording ends. */
static void apply(int was, int now)
{
	struct pp_ring_header *h = pp_ring_pool.header;

	if (was && !now && step_open)
		pp_emit_step(PP_RECORD_STEP_END, 0);
	if (was != now)
		pp_guest_record(now);
	step_open = 0;
	atomic_store_explicit(&h->window_state, (uint32_t)window.state, memory_order_release);
}

void pp_trigger_step_begin(int64_t number)
{
	struct pp_ring_header *h = pp_ring_pool.header;
	int was;

	if (!h)
		return;
	if (!atomic_load_explicit(&h->step_marks, memory_order_relaxed))
		atomic_store_explicit(&h->step_marks, 1, memory_order_relaxed);
	if (!pp_window_asked(&window) ||
	    pthread_mutex_trylock(&lock)) /* two step threads at once, or a handler: the other one decides */
		return;
	was = window.recording;
	if (pp_window_begin(&window, number) != was ||
	    (uint32_t)window.state != atomic_load_explicit(&h->window_state, memory_order_relaxed))
		apply(was, window.recording);
	step_open = window.recording;
	pthread_mutex_unlock(&lock);
}

void pp_trigger_step_end(void)
{
	int was;

	if (!pp_ring_pool.header || !pp_window_asked(&window) || pthread_mutex_trylock(&lock))
		return;
	was = window.recording;
	step_open = 0;
	if (pp_window_end(&window) != was)
		apply(was, window.recording);
	pthread_mutex_unlock(&lock);
}
