/* Moves the windows: those of the options, of the keeper's requests and of the program. Called at step marks and in MPI calls. */
#include "core/window/trigger.h"

#include <errno.h>
#include <sched.h>

#include "core/base/now.h"
#include "core/coord/self.h"
#include "core/window/api_windows.h"
#include "core/window/ask.h"
#include "core/window/carry.h"
#include "core/window/plan.h"
#include "core/window/warm.h"

enum { TRIES = 256 }; /* of a call that no loop makes */

#define UNACKNOWLEDGED UINT32_MAX /* no request has this number */

static const _Atomic uint32_t no_bell;

_Atomic uint32_t pp_trigger_acknowledged;
const _Atomic uint32_t *pp_trigger_bell = &no_bell;
_Atomic int64_t pp_trigger_next_edge = INT64_MIN;
_Atomic int64_t pp_trigger_here = INT64_MIN;
_Atomic uint32_t pp_trigger_code;

/* Locked by an exchange, never waited for: a signal handler may interrupt its owner. It protects: */
static _Atomic uint32_t locked;
static struct pp_plan plan;
static struct pp_ask ask;
static struct pp_api_windows api;
static struct pp_warm warm;
static int64_t warm_edge; /* that it was asked for last */
static void (*switch_recording)(int on);
static uint32_t level; /* of the options */
static int base;       /* no window was requested, everything is recorded */
static int is_recording;
static struct pp_thread_ring *step_thread; /* thread with a recorded step that has not ended */

static int64_t warm_steps = -1;
static int64_t (*warm_ms)(void); /* NULL: no source needs time */
static void (*window_over)(void);

/* Windows that were over when it was last published. */
static uint64_t plan_passed;
static uint32_t ask_passed;
static int was_open; /* a window of the program */

/* Work that a thread without the lock leaves to its owner: */
static _Atomic int64_t missed = INT64_MIN; /* a step mark */
static _Atomic int32_t depth;              /* calls of podprof_window_start() without their stop */
static _Atomic int32_t is_open;            /* whether `api` has a window for `depth` */

static _Atomic uint32_t ended, is_asked_for = 1;
/* A mark of this number, or above, may switch recording. For threads that do not have the lock. */
static _Atomic int64_t first_switch = INT64_MAX;

static _Atomic uint32_t pending; /* request that ranks are to agree on; 0: none */
static _Atomic uint32_t begun;   /* request whose agreement the header reports */

static int try_lock(void)
{
	return !atomic_exchange(&locked, 1);
}

/* For the program's own calls: the lock's owner would see a start and its stop as nothing. It gives up, since below a signal
 * handler no thread unlocks. */
static int try_lock_repeatedly(void)
{
	for (int i = 0; i < TRIES; i++) {
		if (try_lock())
			return 1;
		sched_yield();
	}
	return 0;
}

static int is_left(void)
{
	return atomic_load(&missed) != INT64_MIN || (atomic_load(&depth) > 0) != (atomic_load(&is_open) != 0);
}

static int in_window(void)
{
	return (pp_plan_asked(&plan) ? plan.now.recording : base) || pp_ask_recording(&ask) || pp_api_windows_recording(&api);
}

static int wanted(void)
{
	return in_window() || warm.on;
}

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t window_edge(void)
{
	return least(pp_plan_next_edge(&plan), least(pp_ask_next_edge(&ask), pp_api_windows_next_edge(&api)));
}

/* The first mark always changes something: the keeper learns that steps are marked. */
static int64_t find_next_edge(void)
{
	if (!pp_ring_step_marks(pp_ring_pool.header))
		return INT64_MIN;
	return least(window_edge(), warm_ms ? warm.next : INT64_MAX);
}

/* The step with which recording for a window begins; INT64_MAX: none is known, or it records. */
static int64_t upcoming(void)
{
	int64_t edge = in_window() ? INT64_MAX : window_edge();

	return edge == INT64_MIN ? INT64_MAX : edge;
}

static void warm_up(int64_t number)
{
	warm_edge = upcoming();
	if (warm_ms)
		pp_warm_mark(&warm, number, pp_now_ms(), warm_edge, warm_ms());
}

static int64_t find_first_switch(void)
{
	int64_t ask_ends = ask.phase == PP_ASK_LIVE ? pp_window_ends_from(&ask.window) : INT64_MAX;

	return is_recording ? least(pp_window_ends_from(&plan.now), least(ask_ends, pp_api_windows_ends_from(&api)))
	                    : find_next_edge();
}

/* Is a window over since the last time? */
static int has_passed(void)
{
	int has = plan.passed != plan_passed || (was_open && !api.open) || pp_api_windows_passed(&api);

	if (ask.state == PP_REQUEST_PASSED && ask.number != ask_passed) {
		has = 1;
		ask_passed = ask.number;
	}
	plan_passed = plan.passed;
	was_open = api.open != 0;
	return has;
}

/* Locked. Ends the open step where recording ends at a mark, and publishes the new state; states are written after the records
 * before them. */
static void publish(int at_mark)
{
	struct pp_ring_header *h = pp_ring_pool.header;
	int64_t here = atomic_load_explicit(&pp_trigger_here, memory_order_relaxed);
	int on;

	if (warm_edge != upcoming())
		pp_warm_again(&warm);
	warm_edge = upcoming();
	on = wanted();
	atomic_store_explicit(&pp_trigger_code, pp_ask_recording(&ask) && ask.level ? ask.level : level, memory_order_relaxed);
	pp_trigger_set_level(here);
	if (is_recording && !on && at_mark && step_thread && step_thread == pp_thread_self)
		pp_ring_put_step(PP_RECORD_STEP_END, 0, pp_tick_now());
	if (is_recording != on)
		switch_recording(on);
	if (has_passed() && is_recording && on && window_over)
		window_over();
	is_recording = on;
	if (at_mark || !on)
		step_thread = NULL;
	atomic_store_explicit(&is_asked_for,
	                      (pp_plan_asked(&plan) ? pp_step_windows_has(&plan.asked, here) : base) || ask.phase == PP_ASK_ON ||
	                              (ask.phase == PP_ASK_LIVE && here >= ask.window.first && here < ask.window.last) ||
	                              pp_api_windows_has(&api, here),
	                      memory_order_relaxed);
	/* The keeper ends when all ranks have passed the options' last window, unless the program requests windows. */
	pp_ring_set_window_state(h, (uint32_t)(api.count ? PP_WINDOW_INSIDE : plan.now.state));
	/* Release: rows and records of the windows that are over are whole. */
	pp_ring_set_windows_passed(h, plan.passed);
	pp_api_windows_finalise(&api);
	pp_ask_report(&ask);
	if (pp_ask_is_decided(&ask))
		atomic_store_explicit(&pp_trigger_acknowledged, ask.number, memory_order_relaxed);
	atomic_store_explicit(&begun, ask.state == PP_REQUEST_AGREEING ? ask.number : 0, memory_order_relaxed);
	atomic_store_explicit(&pending, pp_ask_is_decided(&ask) ? 0 : ask.number, memory_order_relaxed);
	atomic_store_explicit(&pp_trigger_next_edge, find_next_edge(), memory_order_relaxed);
	atomic_store_explicit(&first_switch, find_first_switch(), memory_order_relaxed);
}

static void move(int64_t number, pp_tick tick)
{
	if (pp_plan_asked(&plan))
		pp_plan_begin(&plan, number, tick);
	pp_ask_begin(&ask, number, tick);
	pp_api_windows_begin(&api, number, tick);
	warm_up(number);
}

/* Locked. Opens or closes the program's window by the count of starts, on whatever thread they were. */
static void follow_program(const char *name)
{
	int open = atomic_load(&depth) > 0;
	pp_tick tick;

	if (open == (api.open != 0))
		return;
	tick = pp_tick_now();
	base = 0;
	atomic_store(&is_open, open);
	if (open) {
		pp_api_windows_start(&api, name, tick);
		publish(0);
	} else {
		uint64_t was = api.open;

		api.open = 0; /* recording stops first: the row's state follows the last record */
		publish(0);
		api.open = was;
		pp_api_windows_stop(&api, tick);
	}
}

/* Locked. Does the work that other threads left. */
static void catch_up(void)
{
	int64_t number = atomic_exchange(&missed, INT64_MIN);

	follow_program("");
	if (number == INT64_MIN)
		return;
	pp_ask_overtaken(&ask, number);
	move(number, pp_tick_now());
	publish(0);
}

static void unlock(void)
{
	do {
		if (is_left())
			catch_up();
		atomic_store(&locked, 0);
	} while (is_left() && try_lock()); /* a thread that fails to lock has left its work before */
}

/* While ranks agree, most polls only find that they still do: then 1. */
static int is_still_pending(int at_mark)
{
	uint32_t number = atomic_load_explicit(&pending, memory_order_relaxed);
	int64_t here = atomic_load_explicit(&pp_trigger_here, memory_order_relaxed), highest;
	int rc;

	if (!number || number != atomic_load_explicit(pp_trigger_bell, memory_order_relaxed))
		return 0;
	if (!pp_carry_is_due(number, at_mark, here))
		return 1;
	rc = pp_carry(number, here, &highest);
	return rc == -EAGAIN || (!rc && atomic_load_explicit(&begun, memory_order_relaxed) == number);
}

/* Locked, and locked again when it returns 1: it unlocks while ranks communicate. */
static int receive(int at_mark, int64_t number)
{
	uint32_t request;
	int64_t highest = 0;
	int rc;

	pp_ask_receive(&ask, at_mark, number, pp_tick_now());
	if (pp_ask_is_decided(&ask))
		return 1;
	request = ask.number;
	unlock();
	rc = pp_carry(request, atomic_load(&pp_trigger_here), &highest);
	if (!try_lock())
		return 0;
	pp_ask_agreed(&ask, request, rc, highest, atomic_load(&pp_trigger_here));
	return 1;
}

void pp_trigger_start(const struct pp_step_windows *asked, int by_time, const struct pp_control *control, void (*record)(int on))
{
	switch_recording = record;
	pp_plan_init(&plan, asked, pp_ring_pool.header->window);
	pp_ask_init(&ask, control, pp_ring_pool.header);
	pp_api_windows_init(&api, pp_ring_pool.header);
	pp_carry_start();
	pp_warm_init(&warm, warm_steps);
	warm_edge = INT64_MAX;
	plan_passed = 0;
	ask_passed = 0;
	was_open = 0;
	base = is_recording = 1;
	/* A forked child that is a rank of its own inherits these from its parent. */
	step_thread = NULL;
	atomic_store(&locked, 0);
	atomic_store(&missed, INT64_MIN);
	atomic_store(&depth, 0);
	atomic_store(&is_open, 0);
	atomic_store(&pending, 0);
	atomic_store(&begun, 0);
	atomic_store(&pp_trigger_acknowledged, 0);
	atomic_store(&pp_trigger_next_edge, INT64_MIN);
	atomic_store(&pp_trigger_here, INT64_MIN);
	atomic_store_explicit(&first_switch, find_first_switch(), memory_order_relaxed);
	if (by_time) /* so that the first poll acts */
		atomic_store_explicit(&pp_trigger_acknowledged, UNACKNOWLEDGED, memory_order_relaxed);
	if (control)
		pp_trigger_bell = &control->bell;
}

void pp_trigger_warm(int64_t steps, int64_t (*need_ms)(void), void (*over)(void))
{
	warm_steps = steps;
	warm_ms = need_ms;
	window_over = over;
}

void pp_trigger_level(uint32_t code)
{
	level = code;
	atomic_store_explicit(&pp_trigger_code, code, memory_order_relaxed);
	pp_trigger_set_level(INT64_MIN);
}

void pp_trigger_stop(void)
{
	atomic_store(&ended, 1);
}

static int is_over(void)
{
	return !pp_self_is_rank() || atomic_load_explicit(&ended, memory_order_relaxed);
}

void pp_trigger_again(void)
{
	int saved = errno;

	if (is_over() || !try_lock())
		return;
	if (pp_plan_asked(&plan) && pp_plan_again(&plan))
		publish(1);
	unlock();
	errno = saved;
}

int pp_trigger_asks(void)
{
	return (int)atomic_load_explicit(&is_asked_for, memory_order_relaxed);
}

int pp_trigger_is_edge(int64_t number)
{
	return pp_trigger_is_rung() || number >= atomic_load_explicit(&first_switch, memory_order_relaxed);
}

void pp_trigger_coordinate(const struct pp_coord_ops *ops)
{
	pp_carry_by(ops);
}

/* Locked. With windows of time the keeper alone switches recording, from the first look on. */
static void check_first(void)
{
	if (atomic_load_explicit(&pp_trigger_acknowledged, memory_order_relaxed) == UNACKNOWLEDGED)
		base = 0;
}

void pp_trigger_poll(void)
{
	int saved = errno;

	if (is_over() || !pp_trigger_is_rung())
		return;
	if (!is_still_pending(0) && try_lock()) {
		check_first();
		if (receive(0, 0)) {
			publish(0);
			unlock();
		}
	}
	errno = saved;
}

void pp_trigger_mark(int64_t number)
{
	struct pp_ring_header *h = pp_ring_pool.header;
	int saved = errno, have;

	if (is_over())
		return;
	if (number < atomic_load_explicit(&pp_trigger_next_edge, memory_order_relaxed) && is_still_pending(1)) {
		errno = saved;
		return;
	}
	if (!pp_ring_step_marks(h))
		pp_ring_set_step_marks(h, 1);
	have = try_lock();
	if (have) {
		check_first();
		have = receive(1, number);
	}
	if (have) {
		move(number, pp_tick_now());
		publish(1);
		step_thread = is_recording ? pp_thread_self : NULL;
		unlock();
	} else { /* two threads mark steps at once, or a handler does: the lock's owner goes on with it */
		atomic_store(&missed, number);
		if (try_lock())
			unlock();
	}
	errno = saved;
}

void pp_trigger_mark_end(void)
{
	pp_tick tick;

	if (is_over() || !try_lock())
		return;
	step_thread = NULL;
	if (is_recording) {
		tick = pp_tick_now();
		if (pp_plan_asked(&plan))
			pp_plan_end(&plan, tick);
		pp_ask_end(&ask, tick);
		pp_api_windows_end(&api, tick);
		publish(0);
	}
	unlock();
}

void pp_trigger_open(const char *name)
{
	int saved = errno;

	if (is_over() || atomic_fetch_add(&depth, 1) > 0)
		return;
	if (try_lock_repeatedly()) {
		follow_program(name);
		unlock();
	}
	errno = saved;
}

void pp_trigger_close(void)
{
	int32_t now = atomic_load(&depth);
	int saved = errno;

	if (is_over())
		return;
	do {
		if (now <= 0) {
			pp_ring_add_api_strays(pp_ring_pool.header, 1);
			return;
		}
	} while (!atomic_compare_exchange_weak(&depth, &now, now - 1));
	if (now == 1 && try_lock_repeatedly())
		unlock();
	errno = saved;
}

int pp_trigger_steps(int64_t first, int64_t last)
{
	int rc = PP_API_STEPS_FULL;

	if (is_over())
		return 0;
	if (try_lock_repeatedly()) {
		rc = (int)pp_api_windows_steps(&api, &plan.asked, first, last, atomic_load(&pp_trigger_here));
		if (!rc) {
			base = 0;
			publish(0);
		}
		unlock();
	}
	if (rc)
		pp_ring_add_api_refused(pp_ring_pool.header, 1);
	return rc;
}
