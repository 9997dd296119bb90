/* Numbers messages: the n-th of (communicator, peer, tag) that this rank sends, and the n-th that it receives, from MPI_Init on,
 * while nothing is recorded too. In: scope, rank and tag of a wrapper. Out: tag and number for its MESSAGE record.
 *
 * MPI keeps the order of messages with equal communicator, sender, receiver and tag, and receives match them in the order in which
 * they were posted. A receive of any source or tag is numbered when it is seen complete, by its status. Its number is certain if no
 * receive that was posted later has a lower one: while one is pending, receives that may get the same messages are not certain.
 * Two threads that send, or receive, with equal keys at one time have no order. A message that is not certain says so. */
#pragma once

#include "mpi/pmpi_request.h"
#include "mpi/pmpi_source.h"

enum pp_message_way { PP_MESSAGE_SEND, PP_MESSAGE_RECEIVE, PP_MESSAGE_WILD };

struct pp_message_slot {         /* of a key, for ever */
	_Atomic uint64_t key;    /* 0: free */
	_Atomic uint32_t count;  /* messages so far; WILD: receives that are pending */
	_Atomic uint32_t last;   /* RECEIVE: pp_comm.posts of the last one posted */
	_Atomic uint32_t inside; /* calls that begin one now; threads only */
	_Atomic uint32_t broken; /* a call failed: it is unknown if it took a message */
};

struct pp_message { /* one message of one call */
	struct pp_message_slot *slot;
	int is_shared;          /* other threads may call too, as it was at the begin */
	uint32_t others, wilds; /* threads: calls inside, pp_comm.wilds at the begin */
	struct pp_record_message_half half;
	struct pp_message_wild wild;
};

/* Set for good when a call may have taken or sent a message that has no number, or was cancelled: no later one is certain. */
extern _Atomic uint32_t pp_message_lost __attribute__((visibility("hidden")));

/* Sets it. Any thread. */
void pp_message_lose_all(void);

/* The slot of a key; NULL: the table is full, or, without `add`, it is not there. */
struct pp_message_slot *pp_message_find(uint64_t comm, int rank, int tag, enum pp_message_way way, int add);
/* A receive of any source or tag is posted; and: it completed, by its status. ret_half: what it received. */
void pp_message_post_wild(struct pp_comm *c, int source, int tag, struct pp_message_wild *ret_wild);
void pp_message_end_wild(struct pp_comm *c, struct pp_message_wild *wild, int source, int tag,
                         struct pp_record_message_half *ret_half);
/* It took none: a probe without result. */
void pp_message_drop_wild(struct pp_comm *c, struct pp_message_wild *wild);
/* It failed, or was cancelled: it may have taken a message. */
void pp_message_lose_wild(struct pp_comm *c, struct pp_message_wild *wild);
/* May a pending receive of any source or tag get this message? */
int pp_message_wild_may_get(const struct pp_comm *c, int source, int tag);
/* Where threads call MPI at one time. */
void pp_message_enter(struct pp_message *m, struct pp_comm *c, enum pp_message_way way);
void pp_message_leave(struct pp_message *m, struct pp_comm *c, enum pp_message_way way);

static inline uint32_t pp_message_add(_Atomic uint32_t *n)
{
	uint32_t was;

	if (__builtin_expect(pp_request_shared, 0))
		return atomic_fetch_add_explicit(n, 1, memory_order_relaxed);
	was = atomic_load_explicit(n, memory_order_relaxed);
	atomic_store_explicit(n, was + 1, memory_order_relaxed);
	return was;
}

/* Before the real call. rank, tag: as the application gives them. */
static inline void pp_message_begin(struct pp_message *m, struct pp_comm *c, enum pp_message_way way, int rank, int tag)
{
	m->slot = NULL;
	m->half = (struct pp_record_message_half){.peer = -1};
	m->wild.is_pending = 0;
	if (!c || rank == MPI_PROC_NULL)
		return;
	if (way == PP_MESSAGE_RECEIVE && (rank == MPI_ANY_SOURCE || tag == MPI_ANY_TAG)) {
		pp_message_post_wild(c, rank, tag, &m->wild);
		return;
	}
	m->half.peer = pp_mpi_peer(c, rank, &m->half.flags);
	m->half.tag = tag;
	m->half.flags |= PP_MESSAGE_TAGGED;
	m->slot = pp_message_find(c->id, rank, tag, way, 1);
	if (!m->slot)
		return;
	m->is_shared = pp_request_shared;
	m->others = 0;
	if (__builtin_expect(m->is_shared, 0))
		pp_message_enter(m, c, way);
	if (!c->is_unknown && !atomic_load_explicit(&m->slot->broken, memory_order_relaxed) &&
	    !atomic_load_explicit(&pp_message_lost, memory_order_relaxed))
		m->half.flags |= PP_MESSAGE_CERTAIN;
	/* before it is counted: a pending one is counted before it is no longer pending */
	if (way == PP_MESSAGE_RECEIVE && atomic_load_explicit(&c->wild, memory_order_seq_cst) &&
	    pp_message_wild_may_get(c, rank, tag))
		m->half.flags &= (uint16_t)~PP_MESSAGE_CERTAIN;
	m->half.order = pp_message_add(&m->slot->count);
	if (__builtin_expect(m->is_shared, 0)) /* one that came in since, and has a lower number, is still inside or is over */
		m->others |= atomic_load_explicit(&m->slot->inside, memory_order_seq_cst) != 1;
	if (way == PP_MESSAGE_RECEIVE)
		atomic_store_explicit(&m->slot->last, pp_message_add(&c->posts) + 1, memory_order_relaxed);
}

/* After the real call, of one whose key was known. */
static inline void pp_message_end(struct pp_message *m, struct pp_comm *c, enum pp_message_way way, int rc)
{
	if (!m->slot)
		return;
	if (__builtin_expect(rc != MPI_SUCCESS, 0)) {
		atomic_store_explicit(&m->slot->broken, 1, memory_order_relaxed);
		m->half.flags &= (uint16_t)~PP_MESSAGE_CERTAIN;
	}
	if (__builtin_expect(m->is_shared, 0))
		pp_message_leave(m, c, way);
}

/* After the real call, of one that received: the message's source and tag are in the status. */
static inline void pp_message_received(struct pp_message *m, struct pp_comm *c, int rc, const MPI_Status *status)
{
	pp_message_end(m, c, PP_MESSAGE_RECEIVE, rc);
	if (!m->wild.is_pending)
		return;
	if (rc == MPI_SUCCESS)
		pp_message_end_wild(c, &m->wild, status->MPI_SOURCE, status->MPI_TAG, &m->half);
	else
		pp_message_lose_wild(c, &m->wild);
}

/* The slow half of pp_message_record(): appends a MESSAGE record. */
void pp_message_append(struct pp_mpi_scope *s, const struct pp_record_message_half *sent,
                       const struct pp_record_message_half *received);

/* Directly before the call's own record, which has the same tick. NULL: nothing of this kind. */
static inline void pp_message_record(struct pp_mpi_scope *s, const struct pp_record_message_half *sent,
                                     const struct pp_record_message_half *received)
{
	if (((sent ? sent->flags : 0) | (received ? received->flags : 0)) & PP_MESSAGE_TAGGED)
		pp_message_append(s, sent, received);
}

/* A nonblocking receive of any source or tag returned: it stays in the table of requests, while nothing is recorded too. */
void pp_correlation_wild(struct pp_mpi_scope *s, pp_tick end, int rc, const MPI_Request *request, struct pp_message_wild *wild);
/* A request completed; status NULL: unknown. Its message, where it was not known before; else no flags. */
void pp_message_completed(struct pp_request *r, const MPI_Status *status, int failed, struct pp_record_message_half *ret_half);
