/* Wrappers of what reads, writes and positions in files. Called by the application as MPI_X or PMPI_X. */
#include "mpi/pmpi_kind.h"
#include "mpi/pmpi_tie.h"
#include "mpi/pmpi_type.h"

/* "received" of a row: as much as the status says, less than asked for at the end of a file. */
#define PP_READ 1

#define PP_IO_ENTER(symbol, args, on, collective)                                                                                  \
	struct pp_mpi_thread *thread = &pp_mpi_thread;                                                                             \
	struct pp_mpi_scope scope;                                                                                                 \
	pp_tick end;                                                                                                               \
	int rc;                                                                                                                    \
	PP_REAL(symbol)                                                                                                            \
	if (!pp_mpi_seen(thread))                                                                                                  \
		return real args;                                                                                                  \
	pp_mpi_enter(&scope, thread, PP_MPI_CALL_##symbol, pp_kind_handle(on), PP_NO_PEER, collective);

#define PP_WRAP_FILE(symbol, params, args, on, collective, output, received_)                                                      \
	PP_PUBLIC int MPI_##symbol params                                                                                          \
	{                                                                                                                          \
		PP_IO_ENTER(symbol, args, on, collective)                                                                          \
		if (output || (scope.comm && scope.comm->to_file))                                                                 \
			scope.flags |= PP_MPI_TO_FILE;                                                                             \
		rc = real args;                                                                                                    \
		end = pp_mpi_end(&scope);                                                                                          \
		if (scope.recording)                                                                                               \
			pp_mpi_record(&scope, end, rc, 0, 0, 0);                                                                   \
		pp_mpi_leave(&scope);                                                                                              \
		return rc;                                                                                                         \
	}                                                                                                                          \
	PP_BOTH(symbol)

/* The application that ignores the status does not see that ours was filled. */
#define PP_WRAP_FILE_IO(symbol, params, args, on, collective, sent_, reads)                                                        \
	PP_PUBLIC int MPI_##symbol params                                                                                          \
	{                                                                                                                          \
		MPI_Status own = {._ucount = 0};                                                                                   \
		PP_IO_ENTER(symbol, args, on, collective)                                                                          \
		if (reads && scope.recording && status == MPI_STATUS_IGNORE)                                                       \
			status = &own;                                                                                             \
		rc = real args;                                                                                                    \
		end = pp_mpi_end(&scope);                                                                                          \
		if (scope.recording)                                                                                               \
			pp_mpi_record(&scope, end, rc, rc == MPI_SUCCESS ? (sent_) : 0,                                            \
			              reads && rc == MPI_SUCCESS ? status->_ucount : 0, 0);                                        \
		pp_mpi_leave(&scope);                                                                                              \
		return rc;                                                                                                         \
	}                                                                                                                          \
	PP_BOTH(symbol)

#define PP_WRAP_FILE_BEGIN(symbol, params, args, on, collective, sent_, reads)                                                     \
	PP_PUBLIC int MPI_##symbol params                                                                                          \
	{                                                                                                                          \
		PP_IO_ENTER(symbol, args, on, collective)                                                                          \
		rc = real args;                                                                                                    \
		end = pp_mpi_end(&scope);                                                                                          \
		if (scope.recording)                                                                                               \
			pp_mpi_record(&scope, end, rc, rc == MPI_SUCCESS ? (sent_) : 0, 0, 0);                                     \
		pp_mpi_leave(&scope);                                                                                              \
		return rc;                                                                                                         \
	}                                                                                                                          \
	PP_BOTH(symbol)

static void record_start(struct pp_mpi_scope *scope, pp_tick end, int rc, uint64_t sent, MPI_Request handle, int reads)
{
	int done = 0;
	uint32_t number = rc == MPI_SUCCESS ? pp_tie_start(scope, handle, reads, &done) : 0;

	pp_mpi_record(scope, end, rc, sent, 0, number);
	if (done)
		pp_tie_put(scope, end, number, -1, 0, 0);
}

#define PP_WRAP_FILE_I(symbol, params, args, on, collective, sent_, reads)                                                         \
	PP_PUBLIC int MPI_##symbol params                                                                                          \
	{                                                                                                                          \
		PP_IO_ENTER(symbol, args, on, collective)                                                                          \
		rc = real args;                                                                                                    \
		end = pp_mpi_end(&scope);                                                                                          \
		if (scope.recording)                                                                                               \
			record_start(&scope, end, rc, rc == MPI_SUCCESS ? (sent_) : 0, rc == MPI_SUCCESS ? *request : NULL,        \
			             reads);                                                                                       \
		pp_mpi_leave(&scope);                                                                                              \
		return rc;                                                                                                         \
	}                                                                                                                          \
	PP_BOTH(symbol)

#include "mpi/pmpi_family.h"

#include "mpi/pmpi_call.def"
