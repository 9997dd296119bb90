/* What moves the windows, those of the options and the keeper's requests; called by source/api.c at step marks. */
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

static const struct pp_control *control; /* NULL: nobody can ask */
static _Atomic uint32_t heard;           /* number of the request below */
static struct pp_window request;
static _Atomic int request_live;
static _Atomic int64_t request_first, request_last; /* of a live one */

void pp_trigger_start(const struct pp_step_windows *asked)
{
	pp_plan_init(&plan, asked, pp_ring_pool.header->window);
	control = pp_guest_control();
}

int pp_trigger_asks(int64_t number)
{
	if (!pp_plan_asked(&plan) || pp_step_windows_has(&plan.asked, number))
		return 1;
	return atomic_load_explicit(&request_live, memory_order_relaxed) &&
	       number >= atomic_load_explicit(&request_first, memory_order_relaxed) &&
	       number < atomic_load_explicit(&request_last, memory_order_relaxed);
}

static int is_recording(void)
{
	return plan.now.recording || (atomic_load_explicit(&request_live, memory_order_relaxed) && request.recording);
}

/* Release: what was written before is whole when the word is seen. */
static void answer(enum pp_request_state state)
{
	uint64_t number = atomic_load_explicit(&heard, memory_order_relaxed);

	atomic_store_explicit(&pp_ring_pool.header->request, number << 8 | (uint64_t)state, memory_order_release);
}

/* Lock held. The keeper has asked for something else; a request that was there is forgotten. */
static void hear(int64_t number)
{
	uint32_t bell = atomic_load_explicit(&control->bell, memory_order_acquire);
	int64_t first = atomic_load_explicit(&control->request_first, memory_order_relaxed);
	int64_t last = atomic_load_explicit(&control->request_last, memory_order_relaxed);
	struct pp_window_row *row = &pp_ring_pool.header->request_row;

	atomic_thread_fence(memory_order_acquire);
	if (bell != atomic_load_explicit(&control->bell, memory_order_relaxed))
		return; /* it is being changed: the next mark sees it */
	atomic_store_explicit(&heard, bell, memory_order_relaxed);
	atomic_store_explicit(&request_live, 0, memory_order_relaxed);
	if (last <= first) {
		answer(PP_REQUEST_NONE);
		return;
	}
	if (number >= first) {
		answer(PP_REQUEST_LATE);
		return;
	}
	pp_window_init(&request, first, last);
	request.recording = 0;
	row->first = first;
	row->last = last;
	atomic_store_explicit(&request_first, first, memory_order_relaxed);
	atomic_store_explicit(&request_last, last, memory_order_relaxed);
	atomic_store_explicit(&request_live, 1, memory_order_relaxed);
	answer(PP_REQUEST_TAKEN);
}

/* Lock held. Before or after the request's window moved, at `tick`. */
static void note_request(int was, pp_tick tick)
{
	struct pp_window_row *row = &pp_ring_pool.header->request_row;

	if (request.state == PP_WINDOW_PASSED) {
		row->end = tick;
		atomic_store_explicit(&request_live, 0, memory_order_relaxed);
	} else if (request.recording && !was) {
		row->begin = tick;
		answer(PP_REQUEST_STARTED);
	}
}

/* Lock held. The step that is open in the rings ends where recording ends. */
static void apply(int was, int now, int request_passed)
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
	if (request_passed)
		answer(PP_REQUEST_PASSED);
}

static int is_rung(void)
{
	return control &&
	       atomic_load_explicit(&control->bell, memory_order_relaxed) != atomic_load_explicit(&heard, memory_order_relaxed);
}

/* Lock held. */
static void begin_step(int64_t number)
{
	int was = is_recording(), live, before;
	pp_tick tick = pp_tick_now();

	if (is_rung())
		hear(number);
	live = atomic_load_explicit(&request_live, memory_order_relaxed);
	before = request.recording;
	if (pp_plan_asked(&plan))
		pp_plan_begin(&plan, number, tick);
	if (live) {
		pp_window_begin(&request, number);
		note_request(before, tick);
	}
	apply(was, is_recording(), live && request.state == PP_WINDOW_PASSED);
	step_open = is_recording();
}

void pp_trigger_step_begin(int64_t number)
{
	struct pp_ring_header *h = pp_ring_pool.header;
	int live;

	if (!h)
		return;
	if (!atomic_load_explicit(&h->step_marks, memory_order_relaxed))
		atomic_store_explicit(&h->step_marks, 1, memory_order_relaxed);
	live = atomic_load_explicit(&request_live, memory_order_relaxed);
	if (!live && !is_rung() && !pp_plan_asked(&plan))
		return;
	if (pthread_mutex_trylock(&lock)) /* two step threads at once, or a handler: the other one decides */
		return;
	if (live || is_rung() || !pp_plan_is_idle(&plan, number))
		begin_step(number);
	pthread_mutex_unlock(&lock);
}

void pp_trigger_step_end(void)
{
	int live = atomic_load_explicit(&request_live, memory_order_relaxed), was;
	pp_tick tick;

	if (!pp_ring_pool.header || (!live && !pp_plan_asked(&plan)) || pthread_mutex_trylock(&lock))
		return;
	was = is_recording();
	step_open = 0;
	if (was) {
		uint64_t passed = plan.passed;

		tick = pp_tick_now();
		live = atomic_load_explicit(&request_live, memory_order_relaxed);
		if (pp_plan_asked(&plan))
			pp_plan_end(&plan, tick);
		if (live) {
			int before = request.recording;

			pp_window_end(&request);
			note_request(before, tick);
		}
		if (is_recording() != was || plan.passed != passed || (live && request.state == PP_WINDOW_PASSED))
			apply(was, is_recording(), live && request.state == PP_WINDOW_PASSED);
	}
	pthread_mutex_unlock(&lock);
}
