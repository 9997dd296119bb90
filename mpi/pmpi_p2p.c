/* Wrappers of point to point calls, one form a family of the table. Called by the application as MPI_X or PMPI_X. */
#include "mpi/pmpi_tie.h"
#include "mpi/pmpi_type.h"

/* Record an operation that returns a request, and its end where it has ended already. */
static void record_start(struct pp_mpi_scope *scope, pp_tick end, int rc, uint64_t sent, MPI_Request handle, int receives)
{
	int done = 0;
	uint32_t number = rc == MPI_SUCCESS ? pp_tie_start(scope, handle, receives, &done) : 0;

	pp_mpi_record(scope, end, rc, sent, 0, number);
	if (done)
		pp_tie_put(scope, end, number, scope->peer == -2 ? -1 : scope->peer, 0, 0);
}

/* Who a message came from. */
static void take_source(struct pp_mpi_scope *scope, const MPI_Status *status)
{
	scope->flags &= (uint16_t)~PP_MPI_PEER_IN_COMM;
	scope->peer =
	        pp_mpi_peer(scope->comm, status->MPI_SOURCE == MPI_PROC_NULL ? PP_NO_PEER : status->MPI_SOURCE, &scope->flags);
}

#define PP_OPEN(symbol, args, on, rank)                                                                                            \
	struct pp_mpi_thread *thread = &pp_mpi_thread;                                                                             \
	struct pp_mpi_scope scope;                                                                                                 \
	pp_tick end;                                                                                                               \
	int rc;                                                                                                                    \
	PP_REAL(symbol)                                                                                                            \
	if (!pp_mpi_seen(thread))                                                                                                  \
		return real args;                                                                                                  \
	pp_mpi_enter(&scope, thread, PP_MPI_CALL_##symbol, on, rank, 0);

#define PP_CALL(args, on, rank)                                                                                                    \
	rc = real args;                                                                                                            \
	end = pp_mpi_end(&scope);                                                                                                  \
	if (rc == MPI_SUCCESS)                                                                                                     \
		pp_mpi_adopt(&scope, on, rank, 0);

#define PP_WRAP_SEND(symbol, params, args, on, rank, sent_, received_)                                                             \
	PP_PUBLIC int MPI_##symbol params                                                                                          \
	{                                                                                                                          \
		PP_OPEN(symbol, args, on, rank)                                                                                    \
		PP_CALL(args, on, rank)                                                                                            \
		if (scope.recording)                                                                                               \
			pp_mpi_record(&scope, end, rc, rc == MPI_SUCCESS && rank != MPI_PROC_NULL ? (sent_) : 0, 0, 0);            \
		pp_mpi_leave(&scope);                                                                                              \
		return rc;                                                                                                         \
	}                                                                                                                          \
	PP_BOTH(symbol)

#define PP_WRAP_ISEND(symbol, params, args, on, rank, sent_, received_)                                                            \
	PP_PUBLIC int MPI_##symbol params                                                                                          \
	{                                                                                                                          \
		PP_OPEN(symbol, args, on, rank)                                                                                    \
		PP_CALL(args, on, rank)                                                                                            \
		if (scope.recording)                                                                                               \
			record_start(&scope, end, rc, rc == MPI_SUCCESS && rank != MPI_PROC_NULL ? (sent_) : 0,                    \
			             rc == MPI_SUCCESS ? *request : NULL, 0);                                                      \
		pp_mpi_leave(&scope);                                                                                              \
		return rc;                                                                                                         \
	}                                                                                                                          \
	PP_BOTH(symbol)

#define PP_WRAP_IRECV(symbol, params, args, on, rank, sent_, received_)                                                            \
	PP_PUBLIC int MPI_##symbol params                                                                                          \
	{                                                                                                                          \
		PP_OPEN(symbol, args, on, rank)                                                                                    \
		PP_CALL(args, on, rank)                                                                                            \
		if (scope.recording)                                                                                               \
			record_start(&scope, end, rc, 0, rc == MPI_SUCCESS ? *request : NULL, 1);                                  \
		pp_mpi_leave(&scope);                                                                                              \
		return rc;                                                                                                         \
	}                                                                                                                          \
	PP_BOTH(symbol)

/* The application that ignores the status does not see that ours was filled. */
#define PP_WRAP_RECV(symbol, params, args, on, rank, sent_, received_)                                                             \
	PP_PUBLIC int MPI_##symbol params                                                                                          \
	{                                                                                                                          \
		MPI_Status own;                                                                                                    \
		PP_OPEN(symbol, args, on, rank)                                                                                    \
		if (scope.recording && status == MPI_STATUS_IGNORE)                                                                \
			status = &own;                                                                                             \
		PP_CALL(args, on, rank)                                                                                            \
		if (scope.recording) {                                                                                             \
			if (rc == MPI_SUCCESS)                                                                                     \
				take_source(&scope, status);                                                                       \
			pp_mpi_record(&scope, end, rc, 0, rc == MPI_SUCCESS ? (received_) : 0, 0);                                 \
		}                                                                                                                  \
		pp_mpi_leave(&scope);                                                                                              \
		return rc;                                                                                                         \
	}                                                                                                                          \
	PP_BOTH(symbol)

#define PP_WRAP_IPROBE(symbol, params, args, on, rank, sent_, received_)                                                           \
	PP_PUBLIC int MPI_##symbol params                                                                                          \
	{                                                                                                                          \
		MPI_Status own;                                                                                                    \
		PP_OPEN(symbol, args, on, rank)                                                                                    \
		if (scope.recording && status == MPI_STATUS_IGNORE)                                                                \
			status = &own;                                                                                             \
		PP_CALL(args, on, rank)                                                                                            \
		if (scope.recording) {                                                                                             \
			if (rc == MPI_SUCCESS && *flag)                                                                            \
				take_source(&scope, status);                                                                       \
			pp_mpi_record(&scope, end, rc, 0, 0, 0);                                                                   \
		}                                                                                                                  \
		pp_mpi_leave(&scope);                                                                                              \
		return rc;                                                                                                         \
	}                                                                                                                          \
	PP_BOTH(symbol)

/* One record has one peer: the destination; the source where nothing is sent. */
#define PP_WRAP_SENDRECV(symbol, params, args, on, rank, sent_, received_)                                                         \
	PP_PUBLIC int MPI_##symbol params                                                                                          \
	{                                                                                                                          \
		MPI_Status own;                                                                                                    \
		PP_OPEN(symbol, args, on, rank == MPI_PROC_NULL ? source : rank)                                                   \
		if (scope.recording && status == MPI_STATUS_IGNORE)                                                                \
			status = &own;                                                                                             \
		PP_CALL(args, on, rank == MPI_PROC_NULL ? source : rank)                                                           \
		if (scope.recording) {                                                                                             \
			if (rc == MPI_SUCCESS && rank == MPI_PROC_NULL)                                                            \
				take_source(&scope, status);                                                                       \
			pp_mpi_record(&scope, end, rc, rc == MPI_SUCCESS && rank != MPI_PROC_NULL ? (sent_) : 0,                   \
			              rc == MPI_SUCCESS ? (received_) : 0, 0);                                                     \
		}                                                                                                                  \
		pp_mpi_leave(&scope);                                                                                              \
		return rc;                                                                                                         \
	}                                                                                                                          \
	PP_BOTH(symbol)

#include "mpi/pmpi_family.h"

#include "mpi/pmpi_call.def"
