/* Wrappers of persistent requests: each start's record has what was known when the request was made. Called by the application
 * as MPI_X or PMPI_X. */
#include "mpi/pmpi_correlation.h"
#include "mpi/pmpi_message.h"
#include "mpi/pmpi_type.h"

/* Always remembered: it may be started while recording is on, when its datatype may be freed already. */
static void remember(struct pp_mpi_scope *scope, MPI_Request handle, int receives, int rank, int tag, uint64_t sent)
{
	struct pp_request r;

	if (pp_request_is_done(&pp_mpi_names, handle))
		return;
	r = pp_correlation_request(scope, PP_KEY(handle), receives);
	r.persistent = 1;
	r.sent = sent;
	r.rank = rank;
	r.tag = tag;
	pp_request_add(&r);
}

#define PP_WRAP_INIT(symbol, params, args, on, rank, receives, sent_)                                                              \
	PP_OPEN(symbol, params, args, on, rank, 0)                                                                                 \
	PP_CALL(args)                                                                                                              \
	if (rc == MPI_SUCCESS) {                                                                                                   \
		pp_mpi_adopt(&scope, on, rank, 0);                                                                                 \
		remember(&scope, *request, receives, rank, tag, rank != MPI_PROC_NULL ? (sent_) : 0);                              \
	}                                                                                                                          \
	PP_CLOSE_PLAIN(symbol)

#define PP_WRAP_SEND_INIT(symbol, params, args, on, rank, sent_, received_) PP_WRAP_INIT(symbol, params, args, on, rank, 0, sent_)
#define PP_WRAP_RECV_INIT(symbol, params, args, on, rank, sent_, received_) PP_WRAP_INIT(symbol, params, args, on, rank, 1, 0)
#include "mpi/pmpi_family.h"

#include "core/call/mpi_call.def"
#include "mpi/pmpi_large.def"

static enum pp_message_way way_of(const struct pp_request *known)
{
	return known->receives ? PP_MESSAGE_RECEIVE : PP_MESSAGE_SEND;
}

/* Numbers the message of a start; of any source or tag: its completion will. */
static void number(struct pp_message *m, const struct pp_request *known)
{
	struct pp_comm *c = known->key ? known->comm : NULL;

	if (c && atomic_load_explicit(&c->life, memory_order_acquire) != known->life)
		c = NULL;
	pp_message_begin(m, c, way_of(known), known->rank, known->tag);
}

/* Records a start: its peer, its bytes, and its number, which the completion repeats. */
static void started(struct pp_mpi_scope *s, pp_tick end, int rc, const struct pp_request *known, struct pp_message *m)
{
	pp_message_end(m, known->comm, way_of(known), rc);
	if (m->wild.is_pending && rc != MPI_SUCCESS)
		pp_message_lose_wild(known->comm, &m->wild);
	m->wild.is_unrecorded = !s->recording;
	if (m->wild.is_pending)
		pp_request_set_wild(known, &m->wild);
	if (known->key) {
		s->flags = (uint16_t)(known->flags | (known->receives ? PP_MPI_RECEIVES : 0));
		if (rc != MPI_SUCCESS)
			pp_request_end(known);
	}
	if (known->key && pp_mpi_feeds_messages(s) && rc == MPI_SUCCESS)
		pp_mpi_pass_message(s->call, known->receives ? -1 : s->peer, known->receives ? 0 : known->tag,
		                    known->receives ? 0 : known->sent);
	if (!s->recording)
		return;
	pp_message_record(s, known->receives ? NULL : &m->half, known->receives ? &m->half : NULL);
	pp_mpi_record(s, end, rc, rc == MPI_SUCCESS && known->key ? known->sent : 0, 0, rc == MPI_SUCCESS ? known->number : 0);
}

/* While nothing is recorded only the start of a receive of any source or tag gets a number, to be found when it completes. */
static void find(const struct pp_mpi_scope *s, uint64_t key, struct pp_request *ret_known)
{
	if (s->recording) {
		pp_request_start(key, ret_known);
		return;
	}
	pp_request_find(key, ret_known);
	if (ret_known->key && ret_known->receives && (ret_known->rank == MPI_ANY_SOURCE || ret_known->tag == MPI_ANY_TAG))
		pp_request_start(key, ret_known);
}

PP_ENTRIES(Start, (MPI_Request * request), (request))
{
	struct pp_request known;
	struct pp_message message;

	PP_HEAD(Start, (request))
	pp_mpi_enter(&scope, thread, PP_MPI_CALL_Start, 0, PP_NO_PEER, 0);
	find(&scope, request ? PP_KEY(*request) : 0, &known);
	if (known.key)
		pp_mpi_on(&scope, known.comm, known.life, known.peer);
	number(&message, &known);
	rc = real(request);
	end = pp_mpi_end(&scope);
	started(&scope, end, rc, &known, &message);
	PP_TAIL
}

/* One record per request: the first has the time of the call, the others are instants at its end. */
PP_ENTRIES(Startall, (int count, MPI_Request *requests), (count, requests))
{
	struct pp_request known;
	struct pp_message message;

	PP_HEAD(Startall, (count, requests))
	pp_mpi_enter(&scope, thread, PP_MPI_CALL_Startall, 0, PP_NO_PEER, 0);
	rc = real(count, requests);
	end = pp_mpi_end(&scope);
	if (rc != MPI_SUCCESS) /* which of them were started is unknown */
		pp_message_lose_all();
	if (scope.recording && (count <= 0 || rc != MPI_SUCCESS))
		pp_mpi_record(&scope, end, rc, 0, 0, 0);
	for (int i = 0; i < count && rc == MPI_SUCCESS; i++) {
		find(&scope, PP_KEY(requests[i]), &known);
		scope.comm = NULL;
		scope.peer = -1;
		scope.flags = 0;
		scope.sequence = 0;
		if (known.key)
			pp_mpi_on(&scope, known.comm, known.life, known.peer);
		number(&message, &known);
		started(&scope, end, rc, &known, &message);
		scope.begin = end;
	}
	PP_TAIL
}
