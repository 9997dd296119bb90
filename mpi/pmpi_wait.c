/* Wrappers of the Wait and Test families and MPI_Request_free, which record completions. Called as MPI_X or PMPI_X. */
#include <stdlib.h>

#include "core/call/mpi_call.h"
#include "mpi/pmpi_correlation.h"
#include "mpi/pmpi_message.h"
#include "mpi/pmpi_poll.h"

enum { ON_STACK = 64 };

struct awaited {                                   /* the table's entries of the handles, read before the real call clears those */
	struct pp_request stack[ON_STACK], *known; /* known NULL: no entry */
	MPI_Status own[ON_STACK], *own_heap;
	int count;
	int receives; /* a status will be needed, while recording */
	int wild;     /* it will be needed in any case: a message's source or tag is not known yet */
	int taken;    /* removed from the table already: the call returns when they have completed */
};

/* Shows the communicator and the peer that all operations share. An unknown operation may have any. */
static void show_common(const struct awaited *l, struct pp_mpi_scope *s, const MPI_Request *requests)
{
	const struct pp_request *first = NULL;
	int one_peer = 1;

	for (int i = 0; i < l->count; i++) {
		const struct pp_request *r = &l->known[i];

		if (!r->number) {
			if (!r->key && !pp_request_is_done(&pp_mpi_names, requests[i]))
				return;
			continue;
		}
		if (!first)
			first = r;
		if (r->comm != first->comm || r->life != first->life)
			return;
		one_peer &= r->peer == first->peer;
	}
	if (!first)
		return;
	pp_mpi_on(s, first->comm, first->life, one_peer ? first->peer : -1);
	if (one_peer)
		s->flags |= first->flags;
}

/* Which peers the operations are with, and what began them. */
static void show_peers(const struct awaited *l, struct pp_where *w, const MPI_Request *requests)
{
	int one_call = 1;

	w->waits = w->peers = 0;
	w->peers_more = 0;
	for (int i = 0; i < l->count; i++) {
		const struct pp_request *r = &l->known[i];
		int k = 0;

		if (!r->number) {
			w->peers_more |= !r->key && !pp_request_is_done(&pp_mpi_names, requests[i]);
			continue;
		}
		one_call &= !w->waits || (w->waits == r->call + 1 && w->waits_sequence == r->sequence);
		w->waits = (uint16_t)(r->call + 1);
		w->waits_sequence = r->sequence;
		if (r->peer < 0 || r->flags & PP_MPI_PEER_IN_COMM) {
			w->peers_more |= l->count > 1;
			continue;
		}
		while (k < w->peers && w->peer_of[k] != r->peer)
			k++;
		if (k == w->peers && k < PP_WHERE_PEERS)
			w->peer_of[w->peers++] = r->peer;
		w->peers_more |= k == PP_WHERE_PEERS;
	}
	if (!one_call)
		w->waits = 0;
}

/* take: one request of a blocking call. */
static inline void awaited_begin(struct awaited *l, struct pp_mpi_scope *s, int count, const MPI_Request *requests, int take)
{
	int any = 0;

	s->where->waits = s->where->peers = 0;
	s->where->peers_more = 1;
	l->known = NULL;
	l->own_heap = NULL;
	l->receives = 0;
	l->wild = 0;
	l->taken = take;
	l->count = count;
	if (count <= 0 || !requests || !atomic_load_explicit(&pp_request_live, memory_order_relaxed))
		return;
	l->known = count <= ON_STACK ? l->stack : malloc((size_t)count * sizeof *l->known);
	if (!l->known)
		return;
	for (int i = 0; i < count; i++) {
		if (take)
			pp_request_take(PP_KEY(requests[i]), &l->known[i]);
		else
			pp_request_find(PP_KEY(requests[i]), &l->known[i]);
		if (l->known[i].number) {
			any = 1;
			l->receives |= l->known[i].receives;
			l->wild |= l->known[i].wild.is_pending;
		}
	}
	if (any) {
		show_common(l, s, requests);
		show_peers(l, s->where, requests);
		return;
	}
	if (l->known != l->stack)
		free(l->known);
	l->known = NULL;
}

/* Uses our own statuses where the application ignores them and a source is needed. */
static MPI_Status *awaited_statuses(struct awaited *l, const struct pp_mpi_scope *s, MPI_Status *theirs)
{
	if (theirs != MPI_STATUSES_IGNORE || !l->known || !(l->wild || (s->recording && l->receives)))
		return theirs;
	if (l->count <= ON_STACK)
		return l->own;
	l->own_heap = malloc((size_t)l->count * sizeof *l->own_heap);
	return l->own_heap;
}

static void awaited_end(struct awaited *l)
{
	if (l->known != l->stack)
		free(l->known);
	free(l->own_heap);
}

/* Operation i completed. status: as the call got it; without one nothing is known. */
static void ended(struct awaited *l, struct pp_mpi_scope *s, pp_tick now, int i, const MPI_Status *theirs, int failed)
{
	const MPI_Status *status = pp_status_seen(theirs);
	struct pp_request *r;
	struct pp_record_message_half half;
	uint16_t flags = failed ? PP_MPI_FAILED : 0;
	uint64_t received = 0;
	int32_t peer;

	if (!l->known || i < 0 || i >= l->count || !l->known[i].number)
		return;
	r = &l->known[i];
	if (!l->taken)
		pp_request_end(r);
	pp_message_completed(r, status, failed, &half);
	if (!s->recording || r->wild.is_unrecorded)
		return;
	peer = r->peer == -2 ? -1 : r->peer;
	flags |= r->flags;
	/* only messages can be cancelled; a file request's status has any value there */
	if (status && pp_status_cancelled(status) && r->peer != -1) {
		flags |= PP_MPI_CANCELLED;
	} else if (status && r->receives && !failed) {
		received = pp_status_bytes(status);
		if (r->peer == -2 && r->comm) {
			uint16_t how = 0;
			int32_t from = pp_mpi_peer(r->comm, status->MPI_SOURCE, &how);

			if (atomic_load_explicit(&r->comm->life, memory_order_acquire) == r->life) {
				peer = from;
				flags |= how;
			}
		}
	}
	pp_correlation_put_message(s, now, r->number, peer, received, flags, &half);
}

/* The record of a call that completed one operation: on its communicator, with its peer. */
static void show_ended(const struct awaited *l, struct pp_mpi_scope *s, int i, const MPI_Status *theirs)
{
	const MPI_Status *status = pp_status_seen(theirs);
	const struct pp_request *r;

	if (!l->known || i < 0 || i >= l->count || !l->known[i].number)
		return;
	r = &l->known[i];
	if (l->count > 1) { /* of one, show_common() did it */
		pp_mpi_on(s, r->comm, r->life, r->peer);
		s->flags |= r->flags;
	}
	if (r->peer == -2 && s->recording && status && !pp_status_cancelled(status))
		pp_mpi_source(s, status);
}

/* flag: the poll found something, or the call is no poll. */
static void record(struct pp_mpi_scope *s, pp_tick end, int rc, int flag)
{
	if (!s->recording)
		return;
	if (flag || rc != MPI_SUCCESS)
		pp_mpi_record(s, end, rc, 0, 0, 0);
	else
		pp_poll(s, end);
}

#define PP_AWAITED_HEAD(symbol, args, count, requests, take)                                                                       \
	struct awaited l;                                                                                                          \
	PP_HEAD(symbol, args)                                                                                                      \
	pp_mpi_enter(&scope, thread, PP_MPI_CALL_##symbol, 0, PP_NO_PEER, 0);                                                      \
	awaited_begin(&l, &scope, count, requests, take);

#define PP_WAIT_HEAD(symbol, args, count, requests) PP_AWAITED_HEAD(symbol, args, count, requests, 0)

#define PP_WAIT_TAIL                                                                                                               \
	if (l.known)                                                                                                               \
		awaited_end(&l);                                                                                                   \
	PP_TAIL

PP_ENTRIES(Wait, (MPI_Request * request, MPI_Status *status), (request, status))
{
	PP_AWAITED_HEAD(Wait, (request, status), 1, request, 1)
	status = awaited_statuses(&l, &scope, status);
	rc = real(request, status);
	end = pp_mpi_end(&scope);
	if (rc == MPI_SUCCESS)
		show_ended(&l, &scope, 0, status);
	record(&scope, end, rc, 1);
	if (l.known && (rc == MPI_SUCCESS || *request == pp_mpi_names.request_null))
		ended(&l, &scope, end, 0, status, rc != MPI_SUCCESS);
	else if (l.known)
		pp_request_put_back(&l.known[0]);
	PP_WAIT_TAIL
}

PP_ENTRIES(Test, (MPI_Request * request, int *flag, MPI_Status *status), (request, flag, status))
{
	PP_WAIT_HEAD(Test, (request, flag, status), 1, request)
	status = awaited_statuses(&l, &scope, status);
	rc = real(request, flag, status);
	end = pp_mpi_end(&scope);
	if (rc == MPI_SUCCESS && *flag)
		show_ended(&l, &scope, 0, status);
	record(&scope, end, rc, rc != MPI_SUCCESS || *flag);
	if (l.known && (rc == MPI_SUCCESS ? *flag : *request == pp_mpi_names.request_null))
		ended(&l, &scope, end, 0, status, rc != MPI_SUCCESS);
	PP_WAIT_TAIL
}

/* The operation stays in the table: the call that completes it records it. */
PP_ENTRIES(Request_get_status, (MPI_Request request, int *flag, MPI_Status *status), (request, flag, status))
{
	PP_WAIT_HEAD(Request_get_status, (request, flag, status), 1, &request)
	rc = real(request, flag, status);
	end = pp_mpi_end(&scope);
	record(&scope, end, rc, rc != MPI_SUCCESS || *flag);
	PP_WAIT_TAIL
}

/* A message, a collective or a one-sided transfer: any call of MPI brings it forward. Some operations on files need their Wait. */
static int can_watch(const struct pp_request *r)
{
	static const uint8_t is_file[PP_MPI_CALLS] = {
#define PP_MPI(symbol, class, ...) [PP_MPI_CALL_##symbol] = (class) >= PP_MPI_FILE_ALL,
#include "core/call/mpi_call.def"
#undef PP_MPI
	};

	return r->number && r->call < PP_MPI_CALLS && !is_file[r->call];
}

/* Whether each of several operations is complete, without completing it: the real call after it does what the application sees.
 * Returns when at most one is left. seen[i]: when that was seen; 0: at the end of the call. Where several threads may be in MPI, a
 * real call sleeps while another thread polls, so this must not poll. Returns 1 if seen[] was set. */
static int watch(const struct awaited *l, const MPI_Request *requests, pp_tick *seen)
{
	PP_MPI_FOUND static _Atomic(__typeof__(&MPI_Request_get_status)) real_;
	__typeof__(&MPI_Request_get_status) ask = atomic_load_explicit(&real_, memory_order_relaxed);
	uint64_t left = 0;

	if (l->count < 2 || l->count > ON_STACK || pp_request_shared)
		return 0;
	if (!ask && !(ask = (__typeof__(ask))pp_mpi_real("PMPI_Request_get_status")))
		return 0;
	atomic_store_explicit(&real_, ask, memory_order_relaxed);
	for (int i = 0; i < l->count; i++) {
		seen[i] = 0;
		if (can_watch(&l->known[i]))
			left |= (uint64_t)1 << i;
		else if (!pp_request_is_done(&pp_mpi_names, requests[i]))
			return 0;
	}
	while (left & (left - 1)) {
		uint64_t done = 0;
		pp_tick now;

		for (uint64_t rest = left; rest; rest &= rest - 1) {
			int flag = 0;

			if (ask(requests[__builtin_ctzll(rest)], &flag, MPI_STATUS_IGNORE) != MPI_SUCCESS)
				return 1;
			done |= flag ? rest & -rest : 0;
		}
		left &= ~done;
		now = done && left ? pp_tick_now() : 0;
		for (; now && done; done &= done - 1)
			seen[__builtin_ctzll(done)] = now;
	}
	return 1;
}

/* All of an array completed; after an error those without a handle did, and persistent ones whose status says so. seen: of each
 * when, 0: at the end; NULL: all at the end. */
static void all_ended(struct awaited *l, struct pp_mpi_scope *s, pp_tick end, int rc, const MPI_Request *requests,
                      const MPI_Status *theirs, const pp_tick *seen)
{
	const MPI_Status *statuses = pp_status_seen(theirs);

	for (int i = 0; l->known && i < l->count; i++) {
		int stays = requests[i] != pp_mpi_names.request_null;

		if (rc != MPI_SUCCESS && stays &&
		    !(l->known[i].persistent && rc == MPI_ERR_IN_STATUS && statuses && statuses[i].MPI_ERROR != MPI_ERR_PENDING))
			continue;
		ended(l, s, seen && seen[i] ? seen[i] : end, i, statuses ? &statuses[i] : NULL,
		      rc != MPI_SUCCESS && statuses && statuses[i].MPI_ERROR != MPI_SUCCESS);
	}
}

PP_ENTRIES(Waitall, (int count, MPI_Request *requests, MPI_Status *statuses), (count, requests, statuses))
{
	pp_tick seen[ON_STACK];
	int is_seen;

	PP_WAIT_HEAD(Waitall, (count, requests, statuses), count, requests)
	statuses = awaited_statuses(&l, &scope, statuses);
	is_seen = scope.recording && l.known && watch(&l, requests, seen);
	rc = real(count, requests, statuses);
	end = pp_mpi_end(&scope);
	record(&scope, end, rc, 1);
	all_ended(&l, &scope, end, rc, requests, statuses, is_seen ? seen : NULL);
	PP_WAIT_TAIL
}

PP_ENTRIES(Testall, (int count, MPI_Request *requests, int *flag, MPI_Status *statuses), (count, requests, flag, statuses))
{
	PP_WAIT_HEAD(Testall, (count, requests, flag, statuses), count, requests)
	statuses = awaited_statuses(&l, &scope, statuses);
	rc = real(count, requests, flag, statuses);
	end = pp_mpi_end(&scope);
	record(&scope, end, rc, rc != MPI_SUCCESS || *flag);
	if (rc != MPI_SUCCESS || *flag)
		all_ended(&l, &scope, end, rc, requests, statuses, NULL);
	PP_WAIT_TAIL
}

PP_ENTRIES(Waitany, (int count, MPI_Request *requests, int *index, MPI_Status *status), (count, requests, index, status))
{
	PP_WAIT_HEAD(Waitany, (count, requests, index, status), count, requests)
	if (status == MPI_STATUS_IGNORE && l.known && (l.wild || (scope.recording && l.receives)))
		status = l.own;
	rc = real(count, requests, index, status);
	end = pp_mpi_end(&scope);
	if (rc == MPI_SUCCESS)
		show_ended(&l, &scope, *index, status);
	record(&scope, end, rc, 1);
	if (l.known && index && *index >= 0 && *index < count &&
	    (rc == MPI_SUCCESS || requests[*index] == pp_mpi_names.request_null))
		ended(&l, &scope, end, *index, status, rc != MPI_SUCCESS);
	PP_WAIT_TAIL
}

PP_ENTRIES(Testany, (int count, MPI_Request *requests, int *index, int *flag, MPI_Status *status),
           (count, requests, index, flag, status))
{
	PP_WAIT_HEAD(Testany, (count, requests, index, flag, status), count, requests)
	if (status == MPI_STATUS_IGNORE && l.known && (l.wild || (scope.recording && l.receives)))
		status = l.own;
	rc = real(count, requests, index, flag, status);
	end = pp_mpi_end(&scope);
	if (rc == MPI_SUCCESS && *flag)
		show_ended(&l, &scope, *index, status);
	record(&scope, end, rc, rc != MPI_SUCCESS || *flag);
	if (l.known && index && *index >= 0 && *index < count &&
	    (rc == MPI_SUCCESS ? *flag : requests[*index] == pp_mpi_names.request_null))
		ended(&l, &scope, end, *index, status, rc != MPI_SUCCESS);
	PP_WAIT_TAIL
}

/* The first `outcount` statuses belong to the indices. */
static void some_ended(struct awaited *l, struct pp_mpi_scope *s, pp_tick end, int rc, const int *outcount, const int *indices,
                       const MPI_Status *theirs)
{
	const MPI_Status *statuses = pp_status_seen(theirs);

	if (rc != MPI_SUCCESS && rc != MPI_ERR_IN_STATUS)
		return;
	for (int i = 0; l->known && *outcount != MPI_UNDEFINED && i < *outcount; i++)
		ended(l, s, end, indices[i], statuses ? &statuses[i] : NULL,
		      rc != MPI_SUCCESS && statuses && statuses[i].MPI_ERROR != MPI_SUCCESS);
}

PP_ENTRIES(Waitsome, (int count, MPI_Request *requests, int *outcount, int *indices, MPI_Status *statuses),
           (count, requests, outcount, indices, statuses))
{
	PP_WAIT_HEAD(Waitsome, (count, requests, outcount, indices, statuses), count, requests)
	statuses = awaited_statuses(&l, &scope, statuses);
	rc = real(count, requests, outcount, indices, statuses);
	end = pp_mpi_end(&scope);
	record(&scope, end, rc, 1);
	some_ended(&l, &scope, end, rc, outcount, indices, statuses);
	PP_WAIT_TAIL
}

PP_ENTRIES(Testsome, (int count, MPI_Request *requests, int *outcount, int *indices, MPI_Status *statuses),
           (count, requests, outcount, indices, statuses))
{
	PP_WAIT_HEAD(Testsome, (count, requests, outcount, indices, statuses), count, requests)
	statuses = awaited_statuses(&l, &scope, statuses);
	rc = real(count, requests, outcount, indices, statuses);
	end = pp_mpi_end(&scope);
	record(&scope, end, rc, rc != MPI_SUCCESS || *outcount != 0);
	some_ended(&l, &scope, end, rc, outcount, indices, statuses);
	PP_WAIT_TAIL
}

/* Its completion will not be seen: the entry goes before MPI may give the handle to another operation. */
PP_ENTRIES(Request_free, (MPI_Request * request), (request))
{
	struct pp_request known;

	PP_HEAD(Request_free, (request))
	pp_mpi_enter(&scope, thread, PP_MPI_CALL_Request_free, 0, PP_NO_PEER, 0);
	pp_request_find(request ? PP_KEY(*request) : 0, &known);
	if (known.key) {
		pp_mpi_on(&scope, known.comm, known.life, known.peer);
		scope.flags |= known.flags;
	}
	rc = real(request);
	end = pp_mpi_end(&scope);
	record(&scope, end, rc, 1);
	if (known.key && rc == MPI_SUCCESS) {
		pp_request_remove(&known);
		if (scope.recording && known.number)
			pp_correlation_put(&scope, end, known.number, known.peer == -2 ? -1 : known.peer, 0,
			                   known.flags | PP_MPI_FREED);
	}
	PP_TAIL
}

/* A receive that may take no message, though it has a number. */
PP_ENTRIES(Cancel, (MPI_Request * request), (request))
{
	PP_HEAD(Cancel, (request))
	pp_mpi_enter(&scope, thread, PP_MPI_CALL_Cancel, 0, PP_NO_PEER, 0);
	pp_message_lose_all();
	rc = real(request);
	end = pp_mpi_end(&scope);
	record(&scope, end, rc, 1);
	PP_TAIL
}
