/* Reads where-am-I lines and rows of communicators; see place.h. */
#include "aggregate/spool/place.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/comm_id.h"
#include "core/base/plain.h"
#include "core/call/mpi_call.h"

enum { SIZE_MOST = 1 << 20 }; /* of a job; larger ones are damaged */

/* Of a rank that is not inside MPI: the call of torch.distributed that a thread of it is in. Collectives, which the backend's
 * threads are in, go before c10d::wait, which is the first row. */
static void place_c10d(const struct pp_ring_header *h, uint32_t threads, struct pp_where *w)
{
	unsigned call = 0, calls = 0;

	if (w->call)
		return;
	for (uint32_t i = 0; i < threads && i < PP_RING_THREADS; i++) {
		const struct pp_where *one = &h->thread[i].where;

		if (pp_slot_state(&h->thread[i]) != PP_THREAD_LIVE)
			continue;
		calls += one->c10d_calls;
		if (one->c10d > PP_C10D_FIRST && one->c10d > call && pp_mpi_call_is_known(one->c10d - 1u))
			call = one->c10d;
	}
	w->calls += calls; /* it moves */
	if (!call)
		return;
	w->call = (uint16_t)call;
	w->comm = 0; /* these were of the last MPI call */
	w->sequence = 0;
	w->peer = -1;
	w->waits = w->peers = 0;
	w->peers_more = 0;
}

/* On all communicators: it moves. */
static uint32_t nccl_calls(const struct pp_ring_header *h)
{
	uint32_t rows = pp_ring_comms(h), calls = 0;

	for (uint32_t i = 0; i < rows && i < PP_RING_COMMS; i++)
		if (h->comm[i].flags == PP_RING_COMM_NCCL && atomic_load_explicit(&h->comm[i].id, memory_order_acquire))
			calls += (uint32_t)(h->comm[i].nccl.begun + h->comm[i].nccl.ended) + h->comm[i].nccl.messages;
	return calls;
}

struct pp_where pp_place_where(const struct pp_ring_header *h)
{
	uint32_t threads = pp_ring_thread_used(h);
	const struct pp_where *main = NULL, *inside = NULL;
	struct pp_where w = {.peer = -1, .step = INT64_MIN};

	for (uint32_t i = 0; i < threads && i < PP_RING_THREADS; i++) {
		if (pp_slot_state(&h->thread[i]) != PP_THREAD_LIVE)
			continue;
		if (h->thread[i].is_main && !main)
			main = &h->thread[i].where;
		if (h->thread[i].where.call && (!inside || h->thread[i].is_main))
			inside = &h->thread[i].where;
	}
	if (inside || main)
		memcpy(&w, inside ? inside : main, sizeof(w));
	for (uint32_t i = 0; i < threads && i < PP_RING_THREADS; i++) /* another thread may mark the steps */
		if (h->thread[i].where.step > w.step)
			w.step = h->thread[i].where.step;
	if (!w.call)
		w.calls += nccl_calls(h);
	place_c10d(h, threads, &w);
	w.peers = w.peers < PP_WHERE_PEERS ? w.peers : PP_WHERE_PEERS;
	return w;
}

/* 0: it changed meanwhile. */
static int copy_row(const struct pp_ring_comm *row, uint64_t id, struct pp_ring_comm *ret_row)
{
	memcpy(ret_row, row, sizeof(*ret_row));
	atomic_thread_fence(memory_order_acquire);
	if (atomic_load_explicit(&row->id, memory_order_relaxed) != id)
		return 0;
	ret_row->runs = ret_row->runs < PP_RING_COMM_RUNS ? ret_row->runs : PP_RING_COMM_RUNS;
	ret_row->name[sizeof(ret_row->name) - 1] = '\0';
	return 1;
}

int pp_place_comm(const struct pp_ring_header *h, uint64_t id, struct pp_ring_comm *ret_row)
{
	uint32_t rows = pp_ring_comms(h);

	for (uint32_t i = 0; id && i < rows && i < PP_RING_COMMS; i++)
		if (atomic_load_explicit(&h->comm[i].id, memory_order_acquire) == id && copy_row(&h->comm[i], id, ret_row))
			return 1;
	return 0;
}

int pp_place_nccl(const struct pp_ring_header *h, uint32_t index, struct pp_ring_comm *ret_row)
{
	const struct pp_ring_comm *row = &h->comm[index];
	uint64_t id;

	if (index >= pp_ring_comms(h) || index >= PP_RING_COMMS)
		return 0;
	id = atomic_load_explicit(&row->id, memory_order_acquire);
	return id && copy_row(row, id, ret_row) && ret_row->flags == PP_RING_COMM_NCCL;
}

/* "" where it is unknown. */
static void name_comm(const struct pp_ring_header *h, uint64_t id, char *text, size_t size)
{
	struct pp_ring_comm row;

	text[0] = '\0';
	if (pp_place_comm(h, id, &row) && row.name[0])
		snprintf(text, size, "%s", row.name);
	else if (id && h->size > 0 && h->size <= SIZE_MOST &&
	         (id == pp_comm_id_named(PP_COMM_NAME_WORLD, 0, h->size) || id == pp_comm_id_named(PP_COMM_NAME_WORLD, h->rank, 1)))
		snprintf(text, size, "MPI_COMM_WORLD");
	else if (id && id == pp_comm_id_named(PP_COMM_NAME_SELF, h->rank, 1))
		snprintf(text, size, "MPI_COMM_SELF");
	else if (id)
		snprintf(text, size, "communicator %016" PRIx64, id);
	pp_plain(text, "");
}

void pp_place_text(const struct pp_ring_header *h, char *text, size_t size)
{
	struct pp_where w = pp_place_where(h);
	unsigned call = w.call ? w.call : w.last;
	char comm[96] = "";
	size_t n;

	text[0] = '\0';
	if (!call || !pp_mpi_call_is_known(call - 1))
		return;
	name_comm(h, w.comm, comm, sizeof(comm));
	n = (size_t)snprintf(text, size, "%s %s", w.call ? "in" : "after", pp_mpi_call_info(call - 1)->name);
	if (n < size && comm[0] && pp_mpi_class_joins(pp_mpi_call_info(call - 1)->class))
		snprintf(text + n, size - n, " number %" PRIu32 " of %s", w.sequence, comm);
	else if (n < size && comm[0] && w.peer >= 0)
		snprintf(text + n, size - n, " with rank %" PRId32 " on %s", w.peer, comm);
	else if (n < size && comm[0])
		snprintf(text + n, size - n, " on %s", comm);
}
