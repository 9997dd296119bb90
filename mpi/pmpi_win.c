/* Wrappers that make, name and free windows. Called by the application as MPI_X or PMPI_X. */
#include "mpi/pmpi_made.h"

static void made(struct pp_mpi_scope *s, MPI_Win win)
{
	struct pp_comm_birth birth = pp_mpi_birth(s, -1);
	struct pp_comm *w;

	if (!s->comm || !win)
		return;
	w = pp_comm_add_kind(PP_KEY(win), s->comm, PP_COMM_IS_WINDOW, NULL, &birth);
	if (w && s->recording)
		pp_comm_announce(w);
}

/* A collective of the communicator; later calls count on the window. */
#define PP_WRAP_WIN_MAKE(symbol, params, args, on, peer, sent_, received_)                                                         \
	PP_OPEN(symbol, params, args, on, PP_NO_PEER, 1)                                                                           \
	PP_CALL(args)                                                                                                              \
	if (rc == MPI_SUCCESS) {                                                                                                   \
		pp_mpi_adopt(&scope, on, PP_NO_PEER, 1);                                                                           \
		made(&scope, *win);                                                                                                \
	}                                                                                                                          \
	PP_CLOSE_PLAIN(symbol)

#include "mpi/pmpi_family.h"

#include "core/call/mpi_call.def"
#include "mpi/pmpi_large.def"

/* The handle leaves the table before MPI may give it to another thread's new window. */
PP_ENTRIES(Win_free, (MPI_Win * win), (win))
{
	uint64_t key;
	PP_HEAD(Win_free, (win))
	key = win ? PP_KEY(*win) : 0;
	pp_mpi_enter(&scope, thread, PP_MPI_CALL_Win_free, key, PP_NO_PEER, 1);
	if (scope.comm)
		pp_comm_unlink(scope.comm);
	rc = real(win);
	end = pp_mpi_end(&scope);
	if (scope.recording)
		pp_mpi_record(&scope, end, rc, 0, 0, 0);
	if (scope.comm && rc == MPI_SUCCESS)
		pp_comm_release(scope.comm);
	else if (scope.comm)
		pp_comm_relink(scope.comm, key);
	PP_TAIL
}

PP_ENTRIES(Win_set_name, (MPI_Win win, const char *name), (win, name))
{
	PP_HEAD(Win_set_name, (win, name))
	pp_mpi_enter(&scope, thread, PP_MPI_CALL_Win_set_name, PP_KEY(win), PP_NO_PEER, 0);
	rc = real(win, name);
	end = pp_mpi_end(&scope);
	if (rc == MPI_SUCCESS && scope.comm)
		pp_comm_set_name(scope.comm, name);
	if (scope.recording)
		pp_mpi_record(&scope, end, rc, 0, 0, 0);
	PP_TAIL
}
