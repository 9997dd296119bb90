/* Implements podprof.h: the application's steps, ranges, marks, counters. podprof_api() finds it. */
#include "core/source/api.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

#include "core/coord/self.h"
#include "core/podprof.h"
#include "core/source/emit.h"
#include "core/source/process.h"
#include "core/source/services.h"
#include "core/source/source.h"
#include "core/window/pattern.h"
#include "core/window/trigger.h"

enum { REPORTED_REFUSALS = 4 };

_Atomic uint32_t pp_api_is_marked;

/* This thread has no ring yet: this mark may make the process the rank. */
static __attribute__((cold, noinline)) int enter(int64_t number)
{
	if (!pp_emit_wanted() && !pp_self_is_rank())
		return 0;
	pp_thread_where()->step = number;
	return 1;
}

/* Outside of windows two stores and three compares. */
void pp_api_step_begin(int64_t number, pp_tick tick)
{
	struct pp_thread_slot *slot = pp_thread_self->slot; /* only threads of a rank have one */

	if (__builtin_expect(slot != NULL, 1))
		slot->where.step = number;
	else if (!enter(number))
		return;
	if (__builtin_expect(atomic_load_explicit(&pp_pattern_on, memory_order_relaxed) != 0, 0))
		pp_pattern_marked();
	pp_trigger_step_begin(number);
	if (!pp_emit_wanted())
		return;
	pp_process_step_begin(number);
	pp_ring_put_step(PP_RECORD_STEP_BEGIN, number, tick ? tick : pp_tick_now());
}

static void step_begin(int64_t number)
{
	atomic_store_explicit(&pp_api_is_marked, 1, memory_order_relaxed);
	pp_api_step_begin(number, 0);
}

void pp_api_step_end(pp_tick tick)
{
	if (pp_emit_wanted()) {
		pp_ring_put_step(PP_RECORD_STEP_END, 0, tick ? tick : pp_tick_now());
		pp_process_step_end();
	}
	pp_trigger_step_end();
}

static void step_end(void)
{
	pp_api_step_end(0);
}

static void range_push(const char *name, enum podprof_category category)
{
	struct pp_emit e = {.kind = PP_RECORD_PUSH, .source = PP_SOURCE_API, .category = (uint8_t)category};

	if (!pp_emit_wanted())
		return;
	if (__builtin_expect(atomic_load_explicit(&pp_pattern_on, memory_order_relaxed) != 0, 0))
		pp_pattern_range();
	pp_emit_range(&e, name, name ? strlen(name) : 0);
}

static void range_pop(void)
{
	struct pp_emit e = {.kind = PP_RECORD_POP, .source = PP_SOURCE_API};

	if (!pp_emit_wanted())
		return;
	pp_emit_range(&e, "", 0);
}

static void mark(const char *name)
{
	struct pp_emit e = {.kind = PP_RECORD_MARK, .source = PP_SOURCE_API};

	if (!pp_emit_wanted())
		return;
	pp_emit_range(&e, name, name ? strlen(name) : 0);
}

static void counter(const char *name, double value)
{
	if (pp_emit_wanted())
		pp_emit_counter(name, value);
}

/* These calls make no record, but make the process the rank too. */
static int is_rank(void)
{
	return pp_services.claim(PP_EVIDENCE_MARK, -1, -1);
}

static void window_start(const char *name)
{
	if (is_rank())
		pp_trigger_open(name);
}

static void window_stop(void)
{
	if (is_rank())
		pp_trigger_close();
}

static void profile_steps(int64_t first, int64_t last)
{
	static const char *const why[] = {"", "has no step", "has begun already", "overlaps another window of steps",
	                                  "is one too many at a time"};
	static _Atomic uint32_t reports;
	char text[160];
	int saved = errno, rc;

	if (!is_rank())
		return;
	rc = pp_trigger_steps(first, last);
	/* Only the first is reported: a program may repeat it in a loop. */
	if (rc > 0 && rc < (int)(sizeof(why) / sizeof(why[0])) && atomic_fetch_add(&reports, 1) < REPORTED_REFUSALS) {
		snprintf(text, sizeof(text), "podprof_profile_steps(%" PRId64 ", %" PRId64 ") was refused: it %s", first, last,
		         why[rc]);
		pp_self_print(text);
	}
	errno = saved;
}

static int recording(void)
{
	return atomic_load_explicit(&pp_wiped.recording, memory_order_relaxed) != 0;
}

static const struct podprof_api table = {
        .size = sizeof(struct podprof_api),
        .step_begin = step_begin,
        .step_end = step_end,
        .range_push = range_push,
        .range_pop = range_pop,
        .mark = mark,
        .counter = counter,
        .recording = recording,
        .window_start = window_start,
        .window_stop = window_stop,
        .profile_steps = profile_steps,
};

__attribute__((visibility("default"))) const struct podprof_api *podprof_api(void);

const struct podprof_api *podprof_api(void)
{
	return &table;
}

extern const struct pp_source_ops pp_source_api;

const struct pp_source_ops pp_source_api = {.name = "api"};
