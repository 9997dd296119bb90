/* What all wrappers share: the thread's state and one call from entry to record. In: a wrapper's arguments. Out: a record of the
 * call and the thread's struct pp_where.
 *
 * The wrapper passes calls through until MPI_Init found the collector in this process, and on a thread that is
 * already inside a wrapper. No lock is held while the real call runs. */
#pragma once

#include "mpi/coord_mpi.h"
#include "mpi/dispatch/next.h"
#include "mpi/pmpi_announce.h"
#include "mpi/pmpi_collector.h"
#include "mpi/pmpi_comm.h"
#include "mpi/pmpi_mpi4.h"
#include "mpi/pmpi_poll.h"

enum pp_mpi_row {
#define PP_MPI(symbol, ...) PP_MPI_CALL_##symbol,
#include "core/call/mpi_call.def"
#undef PP_MPI
	PP_MPI_CALLS,
#define PP_MPI_LARGE(symbol, of, ...) PP_MPI_CALL_##symbol = PP_MPI_CALL_##of,
#include "mpi/pmpi_large.def"
#undef PP_MPI_LARGE
};

enum { PP_NO_PEER = -0x7fffffff }; /* "peer" of a call that has none; no MPI constant has this value */

/* The head of a wrapper, which both names reach: Fortran bindings, mpi4py and other libraries may call either. A call goes on by
 * the name by which it came. If PMPI_X went on to MPI_X, a library behind this one, whose MPI_X calls PMPI_X, would call itself
 * without end. PMPI_X reaches the wrapper of this object, never another's: the object exports neither. */
#define PP_ENTRIES(symbol, params, args)                                                                                           \
	int PMPI_##symbol params                                                                                                   \
	{                                                                                                                          \
		pp_mpi_thread.by_pmpi = __builtin_return_address(0);                                                               \
		return MPI_##symbol args;                                                                                          \
	}                                                                                                                          \
	int MPI_##symbol params

/* `real` in a wrapper: what comes behind this library, another one's wrapper or MPI's function. Looked up once for each name.
 * Without it the wrapper can only return an error. */
#define PP_REAL(symbol)                                                                                                            \
	PP_MPI_FOUND static _Atomic(__typeof__(&MPI_##symbol)) real_[2];                                                           \
	const void *by_pmpi = pp_mpi_thread.by_pmpi;                                                                               \
	__typeof__(&MPI_##symbol) real = atomic_load_explicit(&real_[by_pmpi != NULL], memory_order_relaxed);                      \
	pp_mpi_thread.by_pmpi = NULL;                                                                                              \
	if (__builtin_expect(!real, 0)) {                                                                                          \
		real = (__typeof__(real))pp_mpi_next("PMPI_" #symbol + !by_pmpi, by_pmpi ? by_pmpi : __builtin_return_address(0)); \
		if (!real)                                                                                                         \
			return MPI_ERR_INTERN;                                                                                     \
		atomic_store_explicit(&real_[by_pmpi != NULL], real, memory_order_relaxed);                                        \
	}

/* `own` in a function that asks MPI itself: the MPI library's, whatever comes behind this library. */
#define PP_OWN(symbol)                                                                                                             \
	PP_MPI_FOUND static _Atomic(__typeof__(&MPI_##symbol)) own_;                                                               \
	__typeof__(&MPI_##symbol) own = atomic_load_explicit(&own_, memory_order_relaxed);                                         \
	if (__builtin_expect(!own, 0)) {                                                                                           \
		own = (__typeof__(own))pp_mpi_real("PMPI_" #symbol);                                                               \
		if (!own)                                                                                                          \
			return MPI_ERR_INTERN;                                                                                     \
		atomic_store_explicit(&own_, own, memory_order_relaxed);                                                           \
	}

/* Begin and end of every wrapper; between them `scope`, `rc` and `end` are the wrapper's. */
#define PP_HEAD(symbol, args)                                                                                                      \
	struct pp_mpi_thread *thread = &pp_mpi_thread;                                                                             \
	struct pp_mpi_scope scope;                                                                                                 \
	pp_tick end;                                                                                                               \
	int rc;                                                                                                                    \
	PP_REAL(symbol)                                                                                                            \
	if (!pp_mpi_seen(thread))                                                                                                  \
		return real args;

#define PP_TAIL                                                                                                                    \
	pp_mpi_leave(&scope);                                                                                                      \
	return rc;

/* A wrapper of a family: PP_OPEN(), what the family does around PP_CALL(), PP_CLOSE(); _PLAIN: with a record of no bytes. */
#define PP_OPEN(symbol, params, args, on, rank, collective)                                                                        \
	PP_ENTRIES(symbol, params, args)                                                                                           \
	{                                                                                                                          \
		PP_HEAD(symbol, args)                                                                                              \
		pp_mpi_enter(&scope, thread, PP_MPI_CALL_##symbol, PP_KEY(on), rank, collective);

#define PP_CALL(args)                                                                                                              \
	rc = real args;                                                                                                            \
	end = pp_mpi_end(&scope);

#define PP_CLOSE(symbol)                                                                                                           \
	PP_TAIL                                                                                                                    \
	}

#define PP_CLOSE_PLAIN(symbol)                                                                                                     \
	if (scope.recording)                                                                                                       \
		pp_mpi_record(&scope, end, rc, 0, 0, 0);                                                                           \
	PP_CLOSE(symbol)

static inline int pp_mpi_seen(const struct pp_mpi_thread *t)
{
	return __builtin_expect(atomic_load_explicit(&pp_mpi_wiped.active, memory_order_acquire), 1) && t->depth == 0;
}

static inline struct pp_comm *pp_mpi_comm(struct pp_mpi_thread *t, uint64_t key)
{
	uint32_t gen = atomic_load_explicit(&pp_comm_gen, memory_order_acquire);

	if (__builtin_expect(t->cache_key != key || t->cache_gen != gen || !t->cache, 0)) {
		t->cache = pp_comm_find(key);
		t->cache_key = key;
		t->cache_gen = gen;
	}
	return t->cache;
}

/* Peer or root of the application as world rank; `flags` tells how to read it. */
static inline int32_t pp_mpi_peer(const struct pp_comm *c, int rank, uint16_t *flags)
{
	int32_t world;

	if (rank == PP_NO_PEER)
		return -1;
	if (rank == MPI_ANY_SOURCE)
		return -2;
	if (!c || (uint32_t)rank >= (uint32_t)c->peers)
		return -1;
	world = c->world ? c->world[rank] : rank;
	if (world < 0) {
		*flags |= PP_MPI_PEER_IN_COMM;
		return rank;
	}
	return world;
}

/* Sets the actual source of a message in place of the requested one. */
static inline void pp_mpi_source(struct pp_mpi_scope *s, const MPI_Status *status)
{
	s->flags &= (uint16_t)~PP_MPI_PEER_IN_COMM;
	s->peer = pp_mpi_peer(s->comm, status->MPI_SOURCE == MPI_PROC_NULL ? PP_NO_PEER : status->MPI_SOURCE, &s->flags);
}

/* Entry. key: of the communicator, window or file, 0: a call without one. collective: the call takes a number on it. */
static inline void pp_mpi_enter(struct pp_mpi_scope *s, struct pp_mpi_thread *t, enum pp_mpi_row call, uint64_t key, int rank,
                                int collective)
{
	struct pp_where *w;

	t->depth = 1;
	atomic_signal_fence(memory_order_seq_cst); /* before `where` is read: a handler that flushes clears it */
	if (__builtin_expect(!t->where, 0))
		pp_mpi_thread_init(t);
	s->thread = t;
	s->call = (uint16_t)call;
	s->flags = 0;
	s->comm = key ? pp_mpi_comm(t, key) : NULL;
	s->sequence = 0;
	if (s->comm) {
		s->sequence = atomic_load_explicit(&s->comm->sequence, memory_order_relaxed);
		if (collective) /* MPI forbids two at once on one communicator: no atomic add needed */
			atomic_store_explicit(&s->comm->sequence, s->sequence + 1, memory_order_relaxed);
	}
	s->peer = pp_mpi_peer(s->comm, rank, &s->flags);
	s->where = w = t->where;
	w->comm = s->comm ? s->comm->id : 0;
	w->sequence = s->sequence;
	w->peer = s->peer;
	w->calls++;
	w->last = (uint16_t)(call + 1);
	w->call = (uint16_t)(call + 1);
	if (__builtin_expect(pp_mpi_is_rung() | (atomic_load_explicit(&pp_coord_busy, memory_order_relaxed) != 0), 0))
		pp_coord_poll(t);
	s->recording = atomic_load_explicit(pp_mpi_recording, memory_order_relaxed) != 0;
	if (__builtin_expect(t->polls != 0, 0) && !s->recording)
		pp_poll_end(t);
	s->begin = s->recording ? pp_tick_now() : 0;
}

static inline int pp_comm_is_one(MPI_Comm handle)
{
	return handle && handle != pp_mpi_names.comm_null;
}

/* A communicator that no wrapper saw being made: known from its first successful call on. */
static inline void pp_mpi_adopt(struct pp_mpi_scope *s, MPI_Comm handle, int rank, int collective)
{
	if (__builtin_expect(s->comm != NULL, 1) || !pp_comm_is_one(handle))
		return;
	s->comm = pp_comm_find(PP_KEY(handle)); /* another thread added it */
	if (!s->comm)
		s->comm = pp_comm_add(handle, &(struct pp_comm_birth){.by = PP_COMM_BY_NOBODY});
	if (!s->comm)
		return;
	s->peer = pp_mpi_peer(s->comm, rank, &s->flags);
	s->sequence = atomic_load_explicit(&s->comm->sequence, memory_order_relaxed);
	if (collective)
		atomic_store_explicit(&s->comm->sequence, s->sequence + 1, memory_order_relaxed);
}

/* A call whose communicator comes from a request or a message, not from a handle. peer: as in a record. */
static inline void pp_mpi_on(struct pp_mpi_scope *s, struct pp_comm *c, uint32_t life, int32_t peer)
{
	struct pp_where *w = s->where;

	if (!c || atomic_load_explicit(&c->life, memory_order_acquire) != life)
		return;
	s->comm = c;
	s->sequence = atomic_load_explicit(&c->sequence, memory_order_relaxed);
	s->peer = peer;
	w->comm = c->id;
	w->sequence = s->sequence;
	w->peer = peer;
}

/* Must the pattern of collectives get this call? Equal on all ranks of MPI_COMM_WORLD, whose order MPI keeps. */
static inline int pp_mpi_feeds_pattern(const struct pp_mpi_scope *s, MPI_Comm handle)
{
	return __builtin_expect(atomic_load_explicit(pp_mpi_pattern, memory_order_relaxed) != 0, 0) &&
	       handle == pp_mpi_names.world && s->comm;
}

/* Must the pattern of messages get this one? Counts it for the pattern of collectives in any case. */
static inline int pp_mpi_feeds_messages(const struct pp_mpi_scope *s)
{
	s->thread->messages++;
	return (int)__builtin_expect((atomic_load_explicit(pp_mpi_pattern, memory_order_relaxed) & PP_PATTERN_MESSAGES) != 0, 0);
}

/* Exit. Returns 1 if a record is wanted; then the wrapper calls pp_mpi_record(). The thread stays guarded until pp_mpi_leave(). */
static inline pp_tick pp_mpi_end(const struct pp_mpi_scope *s)
{
	return s->recording ? pp_tick_now() : 0;
}

static inline void pp_mpi_leave(struct pp_mpi_scope *s)
{
	s->where->call = 0;
	s->thread->depth = 0;
}

static inline void pp_mpi_record(struct pp_mpi_scope *s, pp_tick end, int rc, uint64_t sent, uint64_t received, uint32_t request)
{
	struct pp_ring_cursor *k = s->thread->cursor;
	struct pp_record own, *r, *direct;

	if (__builtin_expect(s->thread->polls != 0, 0))
		pp_poll_end(s->thread);
	if (s->comm &&
	    __builtin_expect(atomic_load_explicit(&s->comm->announced, memory_order_relaxed) != PP_COMM_ANNOUNCED_ALL, 0))
		pp_comm_announce(s->comm);
	direct = pp_ring_take_late(k, pp_mpi_recording);
	r = __builtin_expect(direct != NULL, 1) ? direct : &own;
	r->tick = s->begin;
	r->kind = PP_RECORD_MPI;
	r->more = 0;
	r->length = 0;
	r->mpi.end = end;
	r->mpi.comm = s->comm ? s->comm->id : 0;
	r->mpi.sent = sent;
	r->mpi.received = received;
	r->mpi.sequence = s->sequence;
	r->mpi.peer = s->peer;
	r->mpi.request = request;
	r->mpi.call = s->call;
	r->mpi.flags = (uint16_t)(s->flags | (s->comm ? s->comm->flags : 0) | (rc == MPI_SUCCESS ? 0 : PP_MPI_FAILED));
	if (direct)
		pp_ring_commit(k);
	else
		pp_mpi_put(r, NULL, 0);
}
