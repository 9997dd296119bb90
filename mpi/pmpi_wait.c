/* Wrappers of the Wait and Test families and MPI_Request_free: they tell which operations ended. Called as MPI_X or PMPI_X. */
#include <stdlib.h>

#include "mpi/pmpi_tie.h"

enum { ON_STACK = 64 };

struct look {                                      /* what is known of the handles before the real call nulls them */
	struct pp_request stack[ON_STACK], *known; /* known NULL: nothing is */
	MPI_Status own[ON_STACK], *own_heap;
	int count;
	int receives; /* some status will be wanted */
};

static void look_begin(struct look *l, int count, const MPI_Request *requests)
{
	int any = 0;

	l->known = NULL;
	l->own_heap = NULL;
	l->receives = 0;
	l->count = count;
	if (count <= 0 || !requests || !atomic_load_explicit(&pp_request_live, memory_order_relaxed))
		return;
	l->known = count <= ON_STACK ? l->stack : malloc((size_t)count * sizeof *l->known);
	if (!l->known)
		return;
	for (int i = 0; i < count; i++) {
		if (requests[i] == pp_mpi_names.request_null)
			l->known[i].number = 0;
		else
			pp_request_find(requests[i], &l->known[i]);
		if (l->known[i].number) {
			any = 1;
			l->receives |= l->known[i].receives;
		}
	}
	if (!any && l->known != l->stack)
		free(l->known);
	if (!any)
		l->known = NULL;
}

/* Our own statuses where the application ignores them and a source is wanted. */
static MPI_Status *look_statuses(struct look *l, const struct pp_mpi_scope *s, MPI_Status *theirs)
{
	if (theirs != MPI_STATUSES_IGNORE || !s->recording || !l->known || !l->receives)
		return theirs;
	if (l->count <= ON_STACK)
		return l->own;
	l->own_heap = malloc((size_t)l->count * sizeof *l->own_heap);
	return l->own_heap;
}

static void look_end(struct look *l)
{
	if (l->known != l->stack)
		free(l->known);
	free(l->own_heap);
}

/* Operation i of the look ended; status NULL: not known. */
static void ended(struct look *l, struct pp_mpi_scope *s, pp_tick now, int i, const MPI_Status *status, int failed)
{
	struct pp_request *r;
	uint16_t flags = failed ? PP_MPI_FAILED : 0;
	uint64_t received = 0;
	int32_t peer;

	if (!l->known || i < 0 || i >= l->count || !l->known[i].number)
		return;
	r = &l->known[i];
	pp_request_remove(r);
	if (!s->recording)
		return;
	peer = r->peer == -2 ? -1 : r->peer;
	if (status && status->_cancelled) {
		flags |= PP_MPI_CANCELLED;
	} else if (status && r->receives && !failed) {
		received = status->_ucount;
		if (r->peer == -2 && r->comm) {
			uint16_t how = 0;
			int32_t from = pp_mpi_peer(r->comm, status->MPI_SOURCE, &how);

			if (atomic_load_explicit(&r->comm->life, memory_order_acquire) == r->life) {
				peer = from;
				flags |= how;
			}
		}
	}
	pp_tie_put(s, now, r->number, peer, received, flags);
}

static void record(struct pp_mpi_scope *s, pp_tick end, int rc)
{
	if (s->recording)
		pp_mpi_record(s, end, rc, 0, 0, 0);
}

#define PP_WAIT_HEAD(symbol, args)                                                                                                 \
	struct pp_mpi_thread *thread = &pp_mpi_thread;                                                                             \
	struct pp_mpi_scope s;                                                                                                     \
	struct look l;                                                                                                             \
	pp_tick end;                                                                                                               \
	int rc;                                                                                                                    \
	PP_REAL(symbol)                                                                                                            \
	if (!pp_mpi_seen(thread))                                                                                                  \
		return real args;                                                                                                  \
	pp_mpi_enter(&s, thread, PP_MPI_CALL_##symbol, NULL, PP_NO_PEER, 0);

#define PP_WAIT_TAIL                                                                                                               \
	if (l.known)                                                                                                               \
		look_end(&l);                                                                                                      \
	pp_mpi_leave(&s);                                                                                                          \
	return rc;

PP_PUBLIC int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
	PP_WAIT_HEAD(Wait, (request, status))
	look_begin(&l, 1, request);
	status = look_statuses(&l, &s, status);
	rc = real(request, status);
	end = pp_mpi_end(&s);
	record(&s, end, rc);
	if (l.known && (rc == MPI_SUCCESS || *request == pp_mpi_names.request_null))
		ended(&l, &s, end, 0, status, rc != MPI_SUCCESS);
	PP_WAIT_TAIL
}
PP_BOTH(Wait)

PP_PUBLIC int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
	PP_WAIT_HEAD(Test, (request, flag, status))
	look_begin(&l, 1, request);
	status = look_statuses(&l, &s, status);
	rc = real(request, flag, status);
	end = pp_mpi_end(&s);
	record(&s, end, rc);
	if (l.known && (rc == MPI_SUCCESS ? *flag : *request == pp_mpi_names.request_null))
		ended(&l, &s, end, 0, status, rc != MPI_SUCCESS);
	PP_WAIT_TAIL
}
PP_BOTH(Test)

/* All of an array ended; after an error those whose handle is gone did. */
static void all_ended(struct look *l, struct pp_mpi_scope *s, pp_tick end, int rc, const MPI_Request *requests,
                      const MPI_Status *statuses)
{
	for (int i = 0; l->known && i < l->count; i++) {
		if (rc != MPI_SUCCESS && requests[i] != pp_mpi_names.request_null)
			continue;
		ended(l, s, end, i, statuses ? &statuses[i] : NULL,
		      rc != MPI_SUCCESS && statuses && statuses[i].MPI_ERROR != MPI_SUCCESS);
	}
}

PP_PUBLIC int MPI_Waitall(int count, MPI_Request *requests, MPI_Status *statuses)
{
	PP_WAIT_HEAD(Waitall, (count, requests, statuses))
	look_begin(&l, count, requests);
	statuses = look_statuses(&l, &s, statuses);
	rc = real(count, requests, statuses);
	end = pp_mpi_end(&s);
	record(&s, end, rc);
	all_ended(&l, &s, end, rc, requests, statuses);
	PP_WAIT_TAIL
}
PP_BOTH(Waitall)

PP_PUBLIC int MPI_Testall(int count, MPI_Request *requests, int *flag, MPI_Status *statuses)
{
	PP_WAIT_HEAD(Testall, (count, requests, flag, statuses))
	look_begin(&l, count, requests);
	statuses = look_statuses(&l, &s, statuses);
	rc = real(count, requests, flag, statuses);
	end = pp_mpi_end(&s);
	record(&s, end, rc);
	if (rc != MPI_SUCCESS || *flag)
		all_ended(&l, &s, end, rc, requests, statuses);
	PP_WAIT_TAIL
}
PP_BOTH(Testall)

PP_PUBLIC int MPI_Waitany(int count, MPI_Request *requests, int *index, MPI_Status *status)
{
	PP_WAIT_HEAD(Waitany, (count, requests, index, status))
	look_begin(&l, count, requests);
	if (status == MPI_STATUS_IGNORE && s.recording && l.receives)
		status = l.own;
	rc = real(count, requests, index, status);
	end = pp_mpi_end(&s);
	record(&s, end, rc);
	if (l.known && *index >= 0 && *index < count && requests[*index] == pp_mpi_names.request_null)
		ended(&l, &s, end, *index, status, rc != MPI_SUCCESS);
	PP_WAIT_TAIL
}
PP_BOTH(Waitany)

PP_PUBLIC int MPI_Testany(int count, MPI_Request *requests, int *index, int *flag, MPI_Status *status)
{
	PP_WAIT_HEAD(Testany, (count, requests, index, flag, status))
	look_begin(&l, count, requests);
	if (status == MPI_STATUS_IGNORE && s.recording && l.receives)
		status = l.own;
	rc = real(count, requests, index, flag, status);
	end = pp_mpi_end(&s);
	record(&s, end, rc);
	if (l.known && (rc != MPI_SUCCESS || *flag) && *index >= 0 && *index < count &&
	    requests[*index] == pp_mpi_names.request_null)
		ended(&l, &s, end, *index, status, rc != MPI_SUCCESS);
	PP_WAIT_TAIL
}
PP_BOTH(Testany)

/* The first `outcount` of statuses belong to the indices told. */
static void some_ended(struct look *l, struct pp_mpi_scope *s, pp_tick end, int rc, int outcount, const int *indices,
                       const MPI_Status *statuses)
{
	if (rc != MPI_SUCCESS && rc != MPI_ERR_IN_STATUS)
		return;
	for (int i = 0; l->known && outcount != MPI_UNDEFINED && i < outcount; i++)
		ended(l, s, end, indices[i], statuses ? &statuses[i] : NULL,
		      rc != MPI_SUCCESS && statuses && statuses[i].MPI_ERROR != MPI_SUCCESS);
}

PP_PUBLIC int MPI_Waitsome(int count, MPI_Request *requests, int *outcount, int *indices, MPI_Status *statuses)
{
	PP_WAIT_HEAD(Waitsome, (count, requests, outcount, indices, statuses))
	look_begin(&l, count, requests);
	statuses = look_statuses(&l, &s, statuses);
	rc = real(count, requests, outcount, indices, statuses);
	end = pp_mpi_end(&s);
	record(&s, end, rc);
	some_ended(&l, &s, end, rc, *outcount, indices, statuses);
	PP_WAIT_TAIL
}
PP_BOTH(Waitsome)

PP_PUBLIC int MPI_Testsome(int count, MPI_Request *requests, int *outcount, int *indices, MPI_Status *statuses)
{
	PP_WAIT_HEAD(Testsome, (count, requests, outcount, indices, statuses))
	look_begin(&l, count, requests);
	statuses = look_statuses(&l, &s, statuses);
	rc = real(count, requests, outcount, indices, statuses);
	end = pp_mpi_end(&s);
	record(&s, end, rc);
	some_ended(&l, &s, end, rc, *outcount, indices, statuses);
	PP_WAIT_TAIL
}
PP_BOTH(Testsome)

/* Its end will not be seen: the tie is cut here, before MPI may give the handle to another operation. */
PP_PUBLIC int MPI_Request_free(MPI_Request *request)
{
	PP_WAIT_HEAD(Request_free, (request))
	look_begin(&l, 1, request);
	rc = real(request);
	end = pp_mpi_end(&s);
	record(&s, end, rc);
	if (l.known && rc == MPI_SUCCESS) {
		pp_request_remove(&l.known[0]);
		if (s.recording)
			pp_tie_put(&s, end, l.known[0].number, l.known[0].peer == -2 ? -1 : l.known[0].peer, 0, PP_MPI_FREED);
	}
	PP_WAIT_TAIL
}
PP_BOTH(Request_free)
