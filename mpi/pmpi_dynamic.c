/* Wrappers of calls that connect to other worlds (spawn, accept, connect, join), and of those that have neither communicator nor
 * peer. Called by the application as MPI_X or PMPI_X. */
#include <string.h>

#include "mpi/pmpi_correlation.h"
#include "mpi/pmpi_made.h"
#include "mpi/pmpi_type.h"

/* Tells the session that there were processes which it does not show. */
static void record_spawned(const struct pp_comm *made)
{
	static const char text[] = "MPI processes spawned";
	_Static_assert(sizeof text <= PP_TEXT_INLINE, "fits inline");
	struct pp_record r = {.tick = pp_tick_now(), .kind = PP_RECORD_COUNTER, .length = sizeof text - 1};

	if (!made)
		return;
	r.counter.value = made->peers;
	memcpy(r.counter.text, text, sizeof text);
	pp_mpi_put(&r, NULL, 0);
}

/* A collective of `on`; the communicator that it makes describes the other side. */
#define PP_WRAP_SPAWN(symbol, params, args, on, root_, spawns, received_)                                                          \
	PP_OPEN(symbol, params, args, on, root_, 1)                                                                                \
	struct pp_comm *c = NULL;                                                                                                  \
	if (scope.comm && scope.comm->rank == root_)                                                                               \
		scope.flags |= PP_MPI_IS_ROOT;                                                                                     \
	PP_CALL(args)                                                                                                              \
	if (rc == MPI_SUCCESS) {                                                                                                   \
		pp_mpi_adopt(&scope, on, root_, 1);                                                                                \
		c = pp_mpi_made(&scope, *made_, -1);                                                                               \
	}                                                                                                                          \
	if (scope.recording)                                                                                                       \
		pp_mpi_record(&scope, end, rc, 0, 0, 0);                                                                           \
	if ((spawns) && scope.recording && scope.flags & PP_MPI_IS_ROOT)                                                           \
		record_spawned(c);                                                                                                 \
	PP_CLOSE(symbol)

#define PP_WRAP_PLAIN(symbol, params, args, ...)                                                                                   \
	PP_OPEN(symbol, params, args, NULL, PP_NO_PEER, 0)                                                                         \
	PP_CALL(args)                                                                                                              \
	PP_CLOSE_PLAIN(symbol)

#include "mpi/pmpi_family.h"

#include "core/call/mpi_call.def"
#include "mpi/pmpi_large.def"

PP_ENTRIES(Comm_join, (int fd, MPI_Comm *made_), (fd, made_))
{
	PP_HEAD(Comm_join, (fd, made_))
	pp_mpi_enter(&scope, thread, PP_MPI_CALL_Comm_join, 0, PP_NO_PEER, 0);
	rc = real(fd, made_);
	end = pp_mpi_end(&scope);
	if (rc == MPI_SUCCESS)
		pp_mpi_made(&scope, *made_, -1);
	if (scope.recording)
		pp_mpi_record(&scope, end, rc, 0, 0, 0);
	PP_TAIL
}
