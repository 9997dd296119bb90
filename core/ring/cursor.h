/* A thread's place for its next record: take it, fill it, commit it. Inline: the hot path of every source, and of
 * libpodprof-mpi.so, which gets the cursor's address by podprof_collector.cursor(). One writer per thread, no lock, no call. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "core/ring/record.h"

#define PP_RING_BUSY 0xffffffffu /* generation of a cursor whose record is being filled */
#define PP_RING_GAP 0xfffffffeu  /* records were lost: the next one goes through put(), which writes a GAP record first */

struct pp_ring_cursor {
	struct pp_record *next, *end;
	struct pp_record *first;     /* of the current chunk */
	_Atomic uint32_t *committed; /* of the current chunk */
	uint32_t generation;         /* value of *recording that the thread last saw, or PP_RING_BUSY */
	uint32_t active;             /* that value, kept while busy */
};

/* The next record to fill, or NULL: use put(). A signal handler that interrupts the filling finds the cursor busy; its record
 * is dropped and counted. */
static inline struct pp_record *pp_ring_take(struct pp_ring_cursor *c, const _Atomic uint32_t *recording)
{
	uint32_t on = atomic_load_explicit(recording, memory_order_relaxed);

	if (__builtin_expect(on != c->generation, 0))
		return NULL;
	c->generation = PP_RING_BUSY;
	atomic_signal_fence(
	        memory_order_seq_cst); /* busy before `next` is read: a handler either ran completely before or sees it */
	if (__builtin_expect(c->next >= c->end, 0)) {
		c->generation = on;
		return NULL;
	}
	return c->next;
}

/* The same for calls that began while recording was on, so also right after it went off; NULL too for a thread without a ring. */
static inline struct pp_record *pp_ring_take_late(struct pp_ring_cursor *c, const _Atomic uint32_t *recording)
{
	uint32_t on = atomic_load_explicit(recording, memory_order_relaxed), ready;

	if (!c)
		return NULL;
	ready = c->generation;
	if (__builtin_expect(on != ready, 0) && (on || ready == PP_RING_BUSY || ready == PP_RING_GAP))
		return NULL;
	c->generation = PP_RING_BUSY;
	atomic_signal_fence(memory_order_seq_cst);
	if (__builtin_expect(c->next >= c->end, 0)) {
		c->generation = ready;
		return NULL;
	}
	return c->next;
}

static inline void pp_ring_commit(struct pp_ring_cursor *c)
{
	c->next++;
	atomic_store_explicit(c->committed, (uint32_t)(c->next - c->first), memory_order_release);
	atomic_signal_fence(memory_order_seq_cst);
	c->generation = c->active;
}
