/* State that all wrappers share: the MPI library's objects and the collector. Called by all of mpi/.
 * Out: pointers that MPI_Init sets once (pmpi_init.c). */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "core/base/tick.h"
#include "core/base/wipe.h"
#include "core/source/services.h"
#include "mpi/abi.h"
#include "mpi/dispatch/thread.h"

struct pp_mpi_scope { /* one call of the application */
	struct pp_mpi_thread *thread;
	struct pp_comm *comm;
	struct pp_where *where;
	pp_tick begin;
	uint32_t sequence;
	int32_t peer;
	uint16_t flags;
	uint16_t call;
	int recording;
};

/* Wiped in a child that was forked past libc's handlers: it records nothing. */
struct pp_mpi_wiped {
	_Atomic uint32_t active;
} __attribute__((aligned(PP_PAGE_BYTES)));
extern struct pp_mpi_wiped pp_mpi_wiped __attribute__((visibility("hidden")));
extern const struct podprof_collector *pp_mpi_collector __attribute__((visibility("hidden")));
extern const _Atomic uint32_t *pp_mpi_recording __attribute__((visibility("hidden")));
extern const _Atomic uint32_t *pp_mpi_pattern __attribute__((visibility("hidden")));
/* The keeper's bell, and the request that this rank has acknowledged: a difference is a new request. */
extern const _Atomic uint32_t *pp_mpi_bell __attribute__((visibility("hidden")));
extern const _Atomic uint32_t *pp_mpi_acknowledged __attribute__((visibility("hidden")));
extern struct pp_mpi_names pp_mpi_names __attribute__((visibility("hidden")));

/* First use on this thread: fill where and cursor. */
void pp_mpi_thread_init(struct pp_mpi_thread *t);
/* The slow path into the ring. errno kept. */
void pp_mpi_put(const struct pp_record *record, const void *rest, uint32_t rest_length);

/* Passes a send to the pattern; a receive with peer -1, tag and bytes 0. errno kept. */
void pp_mpi_pass_message(uint16_t call, int32_t peer, int32_t tag, uint64_t bytes);

/* Appends a record to this thread's ring. */
static inline void pp_mpi_append(struct pp_mpi_thread *t, const struct pp_record *r)
{
	struct pp_ring_cursor *k = t->cursor;
	struct pp_record *direct = pp_ring_take_late(k, pp_mpi_recording);

	if (!direct) {
		pp_mpi_put(r, NULL, 0);
		return;
	}
	*direct = *r;
	pp_ring_commit(k);
}

static inline int pp_mpi_is_rung(void)
{
	return atomic_load_explicit(pp_mpi_bell, memory_order_relaxed) !=
	       atomic_load_explicit(pp_mpi_acknowledged, memory_order_relaxed);
}
