/* What moves the window; called by source/api.c at step marks. */
#include "core/window/trigger.h"

#include <pthread.h>
#include <stdatomic.h>

#include "core/guest.h"
#include "core/ring/thread_ring.h"
#include "core/source/emit.h"
#include "core/window/plan.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct pp_plan plan;
static int step_open; /* a step was recorded and has not ended */

void pp_trigger_start(const struct pp_step_windows *asked)
{
	pp_plan_init(&plan, asked, pp_ring_pool.header->window);
}

int pp_trigger_asks(int64_t number)
{
	return !pp_plan_asked(&plan) || pp_step_windows_has(&plan.asked, number);
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
	atomic_store_explicit(&h->window_state, (uint32_t)plan.now.state, memory_order_release);
	/* Release: rows and records of the windows that are over are whole. */
	atomic_store_explicit(&h->windows_passed, plan.passed, memory_order_release);
}

void pp_trigger_step_begin(int64_t number)
{
	struct pp_ring_header *h = pp_ring_pool.header;
	uint64_t passed;
	int was;

	if (!h)
		return;
	if (!atomic_load_explicit(&h->step_marks, memory_order_relaxed))
		atomic_store_explicit(&h->step_marks, 1, memory_order_relaxed);
	if (!pp_plan_asked(&plan) ||
	    pthread_mutex_trylock(&lock)) /* two step threads at once, or a handler: the other one decides */
		return;
	if (!pp_plan_is_idle(&plan, number)) {
		was = plan.now.recording;
		passed = plan.passed;
		if (pp_plan_begin(&plan, number, pp_tick_now()) != was || plan.passed != passed ||
		    (uint32_t)plan.now.state != atomic_load_explicit(&h->window_state, memory_order_relaxed))
			apply(was, plan.now.recording);
		step_open = plan.now.recording;
	}
	pthread_mutex_unlock(&lock);
}

void pp_trigger_step_end(void)
{
	uint64_t passed;
	int was;

	if (!pp_ring_pool.header || !pp_plan_asked(&plan) || pthread_mutex_trylock(&lock))
		return;
	was = plan.now.recording;
	passed = plan.passed;
	step_open = 0;
	if (was && (pp_plan_end(&plan, pp_tick_now()) != was || plan.passed != passed))
		apply(was, plan.now.recording);
	pthread_mutex_unlock(&lock);
}
