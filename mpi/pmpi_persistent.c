/* Wrappers of persistent requests: each start's record has what was known when the request was made. Called by the application
 * as MPI_X or PMPI_X. */
#include "mpi/pmpi_correlation.h"
#include "mpi/pmpi_type.h"

/* Always remembered: it may be started while recording is on, when its datatype may be freed already. */
static void remember(struct pp_mpi_scope *scope, MPI_Request handle, int receives, uint64_t sent)
{
	struct pp_request r;

	if (handle == pp_mpi_names.request_empty || handle == pp_mpi_names.request_null)
		return;
	r = pp_correlation_request(scope, handle, receives);
	r.persistent = 1;
	r.sent = sent;
	pp_request_add(&r);
}

#define PP_WRAP_INIT(symbol, params, args, on, rank, receives, sent_)                                                              \
	PP_OPEN(symbol, params, args, on, rank, 0)                                                                                 \
	PP_CALL(args)                                                                                                              \
	if (rc == MPI_SUCCESS) {                                                                                                   \
		pp_mpi_adopt(&scope, on, rank, 0);                                                                                 \
		remember(&scope, *request, receives, rank != MPI_PROC_NULL ? (sent_) : 0);                                         \
	}                                                                                                                          \
	PP_CLOSE_PLAIN(symbol)

#define PP_WRAP_SEND_INIT(symbol, params, args, on, rank, sent_, received_) PP_WRAP_INIT(symbol, params, args, on, rank, 0, sent_)
#define PP_WRAP_RECV_INIT(symbol, params, args, on, rank, sent_, received_) PP_WRAP_INIT(symbol, params, args, on, rank, 1, 0)
#include "mpi/pmpi_family.h"

#include "mpi/pmpi_call.def"

/* Records a start: its peer, its bytes, and its number, which the completion repeats. */
static void started(struct pp_mpi_scope *s, pp_tick end, int rc, const struct pp_request *known)
{
	if (known->handle) {
		s->flags = (uint16_t)(known->flags | (known->receives ? PP_MPI_RECEIVES : 0));
		if (rc != MPI_SUCCESS)
			pp_request_end(known);
	}
	pp_mpi_record(s, end, rc, rc == MPI_SUCCESS && known->handle ? known->sent : 0, 0, rc == MPI_SUCCESS ? known->number : 0);
}

PP_PUBLIC int MPI_Start(MPI_Request *request)
{
	struct pp_request known;

	PP_HEAD(Start, (request))
	pp_mpi_enter(&scope, thread, PP_MPI_CALL_Start, NULL, PP_NO_PEER, 0);
	if (scope.recording)
		pp_request_start(request ? *request : NULL, &known);
	else
		pp_request_find(request ? *request : NULL, &known);
	if (known.handle)
		pp_mpi_on(&scope, known.comm, known.life, known.peer);
	rc = real(request);
	end = pp_mpi_end(&scope);
	if (scope.recording)
		started(&scope, end, rc, &known);
	PP_TAIL
}
PP_BOTH(Start)

/* One record per request: the first has the time of the call, the others are instants at its end. */
PP_PUBLIC int MPI_Startall(int count, MPI_Request *requests)
{
	struct pp_request known;

	PP_HEAD(Startall, (count, requests))
	pp_mpi_enter(&scope, thread, PP_MPI_CALL_Startall, NULL, PP_NO_PEER, 0);
	rc = real(count, requests);
	end = pp_mpi_end(&scope);
	if (scope.recording && (count <= 0 || rc != MPI_SUCCESS))
		pp_mpi_record(&scope, end, rc, 0, 0, 0);
	for (int i = 0; scope.recording && i < count && rc == MPI_SUCCESS; i++) {
		pp_request_start(requests[i], &known);
		scope.comm = NULL;
		scope.peer = -1;
		scope.flags = 0;
		scope.sequence = 0;
		if (known.handle)
			pp_mpi_on(&scope, known.comm, known.life, known.peer);
		started(&scope, end, rc, &known);
		scope.begin = end;
	}
	PP_TAIL
}
PP_BOTH(Startall)
