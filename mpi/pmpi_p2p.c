/* Wrappers of point-to-point calls, one form per family of the table. Called by the application as MPI_X or PMPI_X. */
#include "mpi/pmpi_poll.h"
#include "mpi/pmpi_correlation.h"
#include "mpi/pmpi_type.h"

#define PP_CALL_ON(args, on, rank)                                                                                                 \
	PP_CALL(args)                                                                                                              \
	if (rc == MPI_SUCCESS)                                                                                                     \
		pp_mpi_adopt(&scope, on, rank, 0);

#define PP_WRAP_SEND(symbol, params, args, on, rank, sent_, received_)                                                             \
	PP_OPEN(symbol, params, args, on, rank, 0)                                                                                 \
	PP_CALL_ON(args, on, rank)                                                                                                 \
	if (scope.recording)                                                                                                       \
		pp_mpi_record(&scope, end, rc, rc == MPI_SUCCESS && rank != MPI_PROC_NULL ? (sent_) : 0, 0, 0);                    \
	PP_CLOSE(symbol)

#define PP_WRAP_ISEND(symbol, params, args, on, rank, sent_, received_)                                                            \
	PP_OPEN(symbol, params, args, on, rank, 0)                                                                                 \
	PP_CALL_ON(args, on, rank)                                                                                                 \
	if (scope.recording)                                                                                                       \
		pp_correlation_record(&scope, end, rc, rc == MPI_SUCCESS && rank != MPI_PROC_NULL ? (sent_) : 0, 0, request, 0,    \
		                      scope.peer);                                                                                 \
	PP_CLOSE(symbol)

#define PP_WRAP_IRECV(symbol, params, args, on, rank, sent_, received_)                                                            \
	PP_OPEN(symbol, params, args, on, rank, 0)                                                                                 \
	PP_CALL_ON(args, on, rank)                                                                                                 \
	if (scope.recording)                                                                                                       \
		pp_correlation_record(&scope, end, rc, 0, 0, request, 1, scope.peer);                                              \
	PP_CLOSE(symbol)

/* An application that ignores the status does not see that ours is filled. */
#define PP_WRAP_RECV(symbol, params, args, on, rank, sent_, received_)                                                             \
	PP_OPEN(symbol, params, args, on, rank, 0)                                                                                 \
	MPI_Status own;                                                                                                            \
	if (scope.recording && status == MPI_STATUS_IGNORE)                                                                        \
		status = &own;                                                                                                     \
	PP_CALL_ON(args, on, rank)                                                                                                 \
	if (scope.recording) {                                                                                                     \
		if (rc == MPI_SUCCESS)                                                                                             \
			pp_mpi_source(&scope, status);                                                                             \
		pp_mpi_record(&scope, end, rc, 0, rc == MPI_SUCCESS ? (received_) : 0, 0);                                         \
	}                                                                                                                          \
	PP_CLOSE(symbol)

#define PP_WRAP_IPROBE(symbol, params, args, on, rank, sent_, received_)                                                           \
	PP_OPEN(symbol, params, args, on, rank, 0)                                                                                 \
	MPI_Status own;                                                                                                            \
	if (scope.recording && status == MPI_STATUS_IGNORE)                                                                        \
		status = &own;                                                                                                     \
	PP_CALL_ON(args, on, rank)                                                                                                 \
	if (scope.recording) {                                                                                                     \
		if (rc == MPI_SUCCESS && !*flag) {                                                                                 \
			pp_poll(&scope, end);                                                                                      \
		} else {                                                                                                           \
			if (rc == MPI_SUCCESS)                                                                                     \
				pp_mpi_source(&scope, status);                                                                     \
			pp_mpi_record(&scope, end, rc, 0, 0, 0);                                                                   \
		}                                                                                                                  \
	}                                                                                                                          \
	PP_CLOSE(symbol)

/* One record has one peer: the destination; the source where nothing is sent. */
#define PP_WRAP_SENDRECV(symbol, params, args, on, rank, sent_, received_)                                                         \
	PP_OPEN(symbol, params, args, on, rank == MPI_PROC_NULL ? source : rank, 0)                                                \
	MPI_Status own;                                                                                                            \
	if (scope.recording && status == MPI_STATUS_IGNORE)                                                                        \
		status = &own;                                                                                                     \
	PP_CALL_ON(args, on, rank == MPI_PROC_NULL ? source : rank)                                                                \
	if (scope.recording) {                                                                                                     \
		if (rc == MPI_SUCCESS && rank == MPI_PROC_NULL)                                                                    \
			pp_mpi_source(&scope, status);                                                                             \
		if (rank == MPI_PROC_NULL)                                                                                         \
			scope.flags |= PP_MPI_RECEIVES;                                                                            \
		pp_mpi_record(&scope, end, rc, rc == MPI_SUCCESS && rank != MPI_PROC_NULL ? (sent_) : 0,                           \
		              rc == MPI_SUCCESS ? (received_) : 0, 0);                                                             \
	}                                                                                                                          \
	PP_CLOSE(symbol)

#include "mpi/pmpi_family.h"

#include "mpi/pmpi_call.def"
