/* Wrappers of one-sided communication: puts, gets and epochs. Called by the application as MPI_X or PMPI_X. */
#include "mpi/pmpi_correlation.h"
#include "mpi/pmpi_type.h"

/* Operations that only read at the target move data one way. */
#define PP_UNLESS_NO_OP(bytes) (op == pp_mpi_names.no_op ? 0 : (bytes))

#define PP_WRAP_EPOCH(symbol, params, args, on, rank, collective, received_)                                                       \
	PP_OPEN(symbol, params, args, on, rank, collective)                                                                        \
	PP_CALL(args)                                                                                                              \
	PP_CLOSE_PLAIN(symbol)

/* Nothing moves to or from MPI_PROC_NULL. */
#define PP_WRAP_RMA(symbol, params, args, on, rank, sent_, received_)                                                              \
	PP_OPEN(symbol, params, args, on, rank, 0)                                                                                 \
	PP_CALL(args)                                                                                                              \
	if (scope.recording) {                                                                                                     \
		int moved = rc == MPI_SUCCESS && rank != MPI_PROC_NULL;                                                            \
		pp_mpi_record(&scope, end, rc, moved ? (sent_) : 0, moved ? (received_) : 0, 0);                                   \
	}                                                                                                                          \
	PP_CLOSE(symbol)

/* MPI defines only the error in the status of such a request: the table holds it without a peer, as one without a source that
 * cannot be cancelled. */
static void record_start(struct pp_mpi_scope *s, pp_tick end, int rc, uint64_t sent, uint64_t received, const MPI_Request *request)
{
	int32_t target = s->peer;
	uint32_t number = 0;
	int done = 0;

	s->peer = -1;
	if (rc == MPI_SUCCESS)
		number = pp_correlation_start(s, *request, 0, &done);
	s->peer = target;
	pp_mpi_record(s, end, rc, sent, received, number);
	if (done)
		pp_correlation_put(s, end, number, -1, 0, 0);
}

#define PP_WRAP_RRMA(symbol, params, args, on, rank, sent_, received_)                                                             \
	PP_OPEN(symbol, params, args, on, rank, 0)                                                                                 \
	PP_CALL(args)                                                                                                              \
	if (scope.recording) {                                                                                                     \
		int moved = rc == MPI_SUCCESS && rank != MPI_PROC_NULL;                                                            \
		record_start(&scope, end, rc, moved ? (sent_) : 0, moved ? (received_) : 0, request);                              \
	}                                                                                                                          \
	PP_CLOSE(symbol)

#include "mpi/pmpi_family.h"

#include "core/call/mpi_call.def"
#include "mpi/pmpi_large.def"
