/* Wrappers of what reads, writes and positions in files. Called by the application as MPI_X or PMPI_X. */
#include "mpi/pmpi_correlation.h"
#include "mpi/pmpi_type.h"

/* "received" of a row: the bytes of the status, which are fewer than requested at the end of a file. */
#define PP_READ 1

#define PP_WRAP_FILE(symbol, params, args, on, collective, output, received_)                                                      \
	PP_OPEN(symbol, params, args, on, PP_NO_PEER, collective)                                                                  \
	if (output || (scope.comm && scope.comm->to_file))                                                                         \
		scope.flags |= PP_MPI_TO_FILE;                                                                                     \
	PP_CALL(args)                                                                                                              \
	PP_CLOSE_PLAIN(symbol)

/* An application that ignores the status does not see that ours is filled. */
#define PP_WRAP_FILE_IO(symbol, params, args, on, collective, sent_, reads)                                                        \
	PP_OPEN(symbol, params, args, on, PP_NO_PEER, collective)                                                                  \
	MPI_Status own = {0};                                                                                                      \
	if (reads && scope.recording && status == MPI_STATUS_IGNORE)                                                               \
		status = &own;                                                                                                     \
	PP_CALL(args)                                                                                                              \
	if (scope.recording)                                                                                                       \
		pp_mpi_record(&scope, end, rc, rc == MPI_SUCCESS ? (sent_) : 0,                                                    \
		              reads && rc == MPI_SUCCESS ? pp_status_bytes(status) : 0, 0);                                        \
	PP_CLOSE(symbol)

#define PP_WRAP_FILE_BEGIN(symbol, params, args, on, collective, sent_, reads)                                                     \
	PP_OPEN(symbol, params, args, on, PP_NO_PEER, collective)                                                                  \
	PP_CALL(args)                                                                                                              \
	if (scope.recording)                                                                                                       \
		pp_mpi_record(&scope, end, rc, rc == MPI_SUCCESS ? (sent_) : 0, 0, 0);                                             \
	PP_CLOSE(symbol)

#define PP_WRAP_FILE_I(symbol, params, args, on, collective, sent_, reads)                                                         \
	PP_OPEN(symbol, params, args, on, PP_NO_PEER, collective)                                                                  \
	PP_CALL(args)                                                                                                              \
	if (scope.recording)                                                                                                       \
		pp_correlation_record(&scope, end, rc, rc == MPI_SUCCESS ? (sent_) : 0, 0, request, reads, -1);                    \
	PP_CLOSE(symbol)

#include "mpi/pmpi_family.h"

#include "core/call/mpi_call.def"
#include "mpi/pmpi_large.def"
