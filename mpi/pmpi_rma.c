/* Wrappers of one-sided communication: puts, gets and epochs. Called by the application as MPI_X or PMPI_X. */
#include <dlfcn.h>
#include <errno.h>

#include "mpi/pmpi_kind.h"
#include "mpi/pmpi_poll.h"
#include "mpi/pmpi_tie.h"
#include "mpi/pmpi_type.h"

/* MPI_NO_OP: an object of libmpi, of which the executable may hold the live copy. */
static int is_no_op(MPI_Op op)
{
	static _Atomic(MPI_Op) known;
	MPI_Op no_op = atomic_load_explicit(&known, memory_order_relaxed);

	if (__builtin_expect(!no_op, 0)) {
		int saved = errno;

		no_op = (MPI_Op)dlsym(RTLD_DEFAULT, "ompi_mpi_op_no_op");
		if (!no_op)
			no_op = (MPI_Op)pp_mpi_real("ompi_mpi_op_no_op");
		atomic_store_explicit(&known, no_op, memory_order_relaxed);
		errno = saved;
	}
	return op == no_op;
}

/* What only reads at the target moves one way. */
#define PP_UNLESS_NO_OP(bytes) (is_no_op(op) ? 0 : (bytes))

#define PP_RMA_HEAD(symbol, args, on, rank, collective)                                                                            \
	PP_HEAD(symbol, args)                                                                                                      \
	pp_mpi_enter(&scope, thread, PP_MPI_CALL_##symbol, pp_kind_handle(on), rank, collective);                                  \
	rc = real args;                                                                                                            \
	end = pp_mpi_end(&scope);

#define PP_WRAP_EPOCH(symbol, params, args, on, rank, collective, received_)                                                       \
	PP_PUBLIC int MPI_##symbol params                                                                                          \
	{                                                                                                                          \
		PP_RMA_HEAD(symbol, args, on, rank, collective)                                                                    \
		if (scope.recording)                                                                                               \
			pp_mpi_record(&scope, end, rc, 0, 0, 0);                                                                   \
		PP_TAIL                                                                                                            \
	}                                                                                                                          \
	PP_BOTH(symbol)

/* Nothing moves to or from MPI_PROC_NULL. */
#define PP_WRAP_RMA(symbol, params, args, on, rank, sent_, received_)                                                              \
	PP_PUBLIC int MPI_##symbol params                                                                                          \
	{                                                                                                                          \
		PP_RMA_HEAD(symbol, args, on, rank, 0)                                                                             \
		if (scope.recording) {                                                                                             \
			int moved = rc == MPI_SUCCESS && rank != MPI_PROC_NULL;                                                    \
			pp_mpi_record(&scope, end, rc, moved ? (sent_) : 0, moved ? (received_) : 0, 0);                           \
		}                                                                                                                  \
		PP_TAIL                                                                                                            \
	}                                                                                                                          \
	PP_BOTH(symbol)

#define PP_WRAP_RRMA(symbol, params, args, on, rank, sent_, received_)                                                             \
	PP_PUBLIC int MPI_##symbol params                                                                                          \
	{                                                                                                                          \
		PP_RMA_HEAD(symbol, args, on, rank, 0)                                                                             \
		if (scope.recording) {                                                                                             \
			int moved = rc == MPI_SUCCESS && rank != MPI_PROC_NULL;                                                    \
			pp_tie_record(&scope, end, rc, moved ? (sent_) : 0, moved ? (received_) : 0, request, 0, scope.peer);      \
		}                                                                                                                  \
		PP_TAIL                                                                                                            \
	}                                                                                                                          \
	PP_BOTH(symbol)

#include "mpi/pmpi_family.h"

#include "mpi/pmpi_call.def"

PP_PUBLIC int MPI_Win_test(MPI_Win win, int *flag)
{
	PP_RMA_HEAD(Win_test, (win, flag), win, PP_NO_PEER, 0)
	if (scope.recording && rc == MPI_SUCCESS && !*flag)
		pp_poll(&scope, end);
	else if (scope.recording)
		pp_mpi_record(&scope, end, rc, 0, 0, 0);
	PP_TAIL
}
PP_BOTH(Win_test)
