/* Correlates a nonblocking call with its completion: the call's record has a number, and a REQUEST record repeats it. In: scope
 * of the call and its request handle. Out: number, REQUEST records. */
#pragma once

#include "mpi/pmpi_request.h"
#include "mpi/pmpi_source.h"

/* Records that the operation completed. peer: its source, -1 unknown. half: of a receive of any source or tag, else NULL. */
static inline void pp_correlation_put_message(const struct pp_mpi_scope *s, pp_tick now, uint32_t number, int32_t peer,
                                              uint64_t received, uint16_t flags, const struct pp_record_message_half *half)
{
	struct pp_ring_cursor *k = s->thread->cursor;
	struct pp_record own, *direct = pp_ring_take_late(k, pp_mpi_recording);
	struct pp_record *r = __builtin_expect(direct != NULL, 1) ? direct : &own;

	r->tick = now;
	r->kind = PP_RECORD_REQUEST;
	r->more = 0;
	r->length = 0;
	r->request.request = number;
	r->request.peer = peer;
	r->request.received = received;
	r->request.call = s->call;
	r->request.flags = flags;
	r->request.message_flags = half ? half->flags : 0;
	r->request.reserved = 0;
	r->request.tag = half ? half->tag : 0;
	r->request.order = half ? half->order : 0;
	if (direct)
		pp_ring_commit(k);
	else
		pp_mpi_put(r, NULL, 0);
}

static inline void pp_correlation_put(const struct pp_mpi_scope *s, pp_tick now, uint32_t number, int32_t peer, uint64_t received,
                                      uint16_t flags)
{
	pp_correlation_put_message(s, now, number, peer, received, flags, NULL);
}

/* The table's entry for a request. */
static inline struct pp_request pp_correlation_request(const struct pp_mpi_scope *s, uint64_t key, int receives)
{
	return (struct pp_request){
	        .key = key,
	        .comm = s->comm,
	        .life = s->comm ? atomic_load_explicit(&s->comm->life, memory_order_relaxed) : 0,
	        .peer = s->peer,
	        .flags = s->flags & PP_MPI_PEER_IN_COMM,
	        .call = s->call,
	        .sequence = s->sequence,
	        .receives = (uint8_t)receives,
	};
}

/* A nonblocking call returned: numbers it while recording, and stores the handle. Returns the number. ret_done: it was complete
 * at once (such operations share one handle, so no later call could tell them apart). */
static inline uint32_t pp_correlation_start(const struct pp_mpi_scope *s, MPI_Request handle, int receives, int *ret_done)
{
	struct pp_request r;

	*ret_done = pp_request_is_done(&pp_mpi_names, handle);
	if (*ret_done)
		return pp_request_number();
	r = pp_correlation_request(s, PP_KEY(handle), receives);
	return pp_request_add(&r);
}

/* Records a call that returned a request, and its completion where it is complete already; peer: its source then. */
static inline void pp_correlation_record(struct pp_mpi_scope *s, pp_tick end, int rc, uint64_t sent, uint64_t received,
                                         const MPI_Request *request, int receives, int32_t peer)
{
	int done = 0;
	uint32_t number = rc == MPI_SUCCESS ? pp_correlation_start(s, *request, receives, &done) : 0;

	pp_mpi_record(s, end, rc, sent, received, number);
	if (done)
		pp_correlation_put(s, end, number, peer == -2 ? -1 : peer, 0, 0);
}
