/* Ties a nonblocking call to its completion: the record of the call has a number, and a REQUEST record repeats it.
 * In: scope of the call and its request handle. Out: number, REQUEST records. */
#ifndef PP_PMPI_TIE_H
#define PP_PMPI_TIE_H

#include "mpi/pmpi_request.h"
#include "mpi/pmpi_source.h"

/* The operation ended. status NULL: not known. */
static inline void pp_tie_put(const struct pp_mpi_scope *s, pp_tick now, uint32_t number, int32_t peer, uint64_t received,
                              uint16_t flags)
{
	struct pp_record r = {.tick = now, .kind = PP_RECORD_REQUEST};
	struct pp_ring_cursor *k = s->thread->cursor;

	r.request.request = number;
	r.request.peer = peer;
	r.request.received = received;
	r.request.call = s->call;
	r.request.flags = flags;
	if (!k || k->next >= k->end) {
		pp_mpi_put(&r, NULL, 0);
		return;
	}
	*k->next = r;
	pp_ring_commit(k);
}

/* A nonblocking call returned: number it while recording, and note the handle. Returns the number. ret_done: it was complete at
 * once (such operations share one handle, so no later call could tell them apart). */
static inline uint32_t pp_tie_start(const struct pp_mpi_scope *s, MPI_Request handle, int receives, int *ret_done)
{
	struct pp_request r;

	*ret_done = handle == pp_mpi_names.request_empty || handle == pp_mpi_names.request_null;
	if (*ret_done)
		return pp_request_number();
	r.handle = handle;
	r.comm = s->comm;
	r.life = s->comm ? atomic_load_explicit(&s->comm->life, memory_order_relaxed) : 0;
	r.peer = s->peer;
	r.call = s->call;
	r.receives = (uint16_t)receives;
	return pp_request_add(&r);
}

#endif
