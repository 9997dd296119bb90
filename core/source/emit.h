/* Writes one record into this thread's ring; used by sources. In: what happened. Out: a committed record.
 * Callers have read pp_wiped.recording != 0, or called pp_emit_wanted(). */
#pragma once

#include <string.h>

#include "core/ring/thread_ring.h"
#include "core/source/emit_range.h"

/* Cold half of pp_emit_wanted(): claims, or counts calls after the end. 1: a record is wanted. errno is kept. */
int pp_emit_claim(void) __attribute__((cold));
/* The slow half of pp_emit_range(): long texts, the end of a chunk, no ring yet. */
void pp_emit_range_slow(const struct pp_emit *e, const char *name, size_t length) __attribute__((cold));
/* The same at a tick that was read before. */
void pp_emit_range_at(const struct pp_emit *e, pp_tick tick, const char *name, size_t length);
/* A value of the counter `name` (NULL: "") now. */
void pp_emit_counter(const char *name, double value);

static inline int pp_emit_wanted(void)
{
	if (__builtin_expect(atomic_load_explicit(&pp_wiped.recording, memory_order_acquire) != 0, 1))
		return 1;
	if (__builtin_expect(atomic_load_explicit(&pp_wiped.phase, memory_order_relaxed) == PP_PHASE_DECIDED, 1))
		return 0;
	return pp_emit_claim();
}

static inline void pp_emit_range(const struct pp_emit *e, const char *name, size_t length)
{
	if (!pp_emit_range_quick(&pp_thread_self->cursor, &pp_wiped.recording, e, name, length))
		pp_emit_range_slow(e, name, length);
}
