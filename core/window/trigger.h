/* Moves the windows of this process at step marks, calls of the program and the keeper's bell. In: calls of sources and of
 * libpodprof-mpi.so. Out: recording on and off, states in the ring's header. Any thread, any time, never waits: a thread that
 * finds another one inside leaves its work to that one. A mark that changes nothing costs two compares. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "core/base/level.h"
#include "core/base/step_windows.h"
#include "core/coord/coord.h"
#include "core/ring/notice.h"
#include "core/ring/ring_file.h"
#include "core/ring/thread_ring.h"

/* Number of the keeper's last request that this rank has handled. A different number in the bell is a new request. */
extern _Atomic uint32_t pp_trigger_acknowledged __attribute__((visibility("hidden")));
/* The bell in the keeper's control page; before the claim, and without a keeper, a constant. */
extern const _Atomic uint32_t *pp_trigger_bell __attribute__((visibility("hidden")));
/* Marks of steps below this one change nothing. */
extern _Atomic int64_t pp_trigger_next_edge __attribute__((visibility("hidden")));
/* The step that this rank is in; INT64_MIN: none yet. */
extern _Atomic int64_t pp_trigger_here __attribute__((visibility("hidden")));
/* The level that holds now, pp_level_code(). */
extern _Atomic uint32_t pp_trigger_code __attribute__((visibility("hidden")));

/* The level of the options, pp_level_code(); before pp_trigger_start(). */
void pp_trigger_level(uint32_t code);
/* At the claim. by_time: the first poll switches recording off, unless the keeper requests it. control: NULL without a keeper.
 * record: switches recording; called under the lock of the windows. */
void pp_trigger_start(const struct pp_step_windows *asked, int by_time, const struct pp_control *control, void (*record)(int on));
/* Before the claim: recording begins `steps` steps before each window whose steps are known, as far as need_ms() says that a source
 * needs time to start (ms; 0: none does). steps -1: by that time. Without this call it does not. over: called under the lock of the
 * windows where one is over and recording goes on, before that is published. */
void pp_trigger_warm(int64_t steps, int64_t (*need_ms)(void), void (*over)(void));
/* At exit: nothing switches recording on after it. */
void pp_trigger_stop(void);
/* What was taken for steps is none: the windows of the options begin again, unless one has passed. errno is kept. */
void pp_trigger_again(void);
/* Is the begun step in a window, or was no window requested? */
int pp_trigger_asks(void);
/* 1: a mark of this number may switch recording on or off. Approximate while another thread moves the windows. */
int pp_trigger_is_edge(int64_t number);
/* Reads the bell, and acts on a new request, from inside an MPI call. errno is kept. */
void pp_trigger_poll(void);
/* How ranks agree on a window; the first call counts. `ops` stays valid for life. */
void pp_trigger_coordinate(const struct pp_coord_ops *ops);

/* For podprof_window_start() and related calls; errno is kept. name: NULL is "". steps: 0, or the reason as enum
 * pp_api_steps_answer. */
void pp_trigger_open(const char *name);
void pp_trigger_close(void);
int pp_trigger_steps(int64_t first, int64_t last);

/* The cold halves of the two functions below: a mark that may move a window. errno is kept. */
void pp_trigger_mark(int64_t number);
void pp_trigger_mark_end(void);

static inline int pp_trigger_is_rung(void)
{
	return atomic_load_explicit(pp_trigger_bell, memory_order_relaxed) !=
	       atomic_load_explicit(&pp_trigger_acknowledged, memory_order_relaxed);
}

/* The level of the step in the ring's header. */
static inline void pp_trigger_set_level(int64_t number)
{
	const uint32_t level = pp_level_at(atomic_load_explicit(&pp_trigger_code, memory_order_relaxed), number);

	if (__builtin_expect(pp_ring_pool.header && pp_ring_level(pp_ring_pool.header) != level, 0))
		pp_ring_set_level(pp_ring_pool.header, level);
}

/* begin: before the mark's record is written; end: after it. */
static inline void pp_trigger_step_begin(int64_t number)
{
	atomic_store_explicit(&pp_trigger_here, number, memory_order_relaxed);
	if (__builtin_expect(number >= atomic_load_explicit(&pp_trigger_next_edge, memory_order_relaxed) || pp_trigger_is_rung(),
	                     0))
		pp_trigger_mark(number);
	pp_trigger_set_level(number);
	if (__builtin_expect(pp_notice_is_new(), 0))
		pp_notice_print();
}

static inline void pp_trigger_step_end(void)
{
	if (__builtin_expect(atomic_load_explicit(&pp_trigger_next_edge, memory_order_relaxed) == INT64_MIN, 0))
		pp_trigger_mark_end();
}
