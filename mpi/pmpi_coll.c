/* Wrappers of collectives, blocking and nonblocking. Called by the application as MPI_X or PMPI_X. */
#include <errno.h>

#include "mpi/pmpi_correlation.h"
#include "mpi/pmpi_topo.h"
#include "mpi/pmpi_type.h"

/* Root: on an intercommunicator MPI_ROOT is this rank, MPI_PROC_NULL a bystander on the root's side. */
static inline void enter(struct pp_mpi_scope *s, struct pp_mpi_thread *t, enum pp_mpi_row call, MPI_Comm comm, int root)
{
	pp_mpi_enter(s, t, call, PP_KEY(comm), root, 1);
	if (root == PP_NO_PEER || !s->comm)
		return;
	if (root == MPI_ROOT)
		s->where->peer = s->peer = pp_comm_world_rank();
	if (pp_role(s->comm, root) == PP_ROLE_ROOT)
		s->flags |= PP_MPI_IS_ROOT;
}

static void adopt(struct pp_mpi_scope *s, MPI_Comm comm, int root)
{
	pp_mpi_adopt(s, comm, root, 1);
	if (s->comm && root != PP_NO_PEER && pp_role(s->comm, root) == PP_ROLE_ROOT) {
		s->flags |= PP_MPI_IS_ROOT;
		s->peer = pp_comm_world_rank();
	}
}

#define PP_COLL_OPEN(symbol, params, args, on, root_)                                                                              \
	PP_ENTRIES(symbol, params, args)                                                                                           \
	{                                                                                                                          \
		PP_HEAD(symbol, args)                                                                                              \
		enter(&scope, thread, PP_MPI_CALL_##symbol, on, root_);                                                            \
		PP_CALL(args)                                                                                                      \
		if (__builtin_expect(!scope.comm, 0) && rc == MPI_SUCCESS)                                                         \
			adopt(&scope, on, root_);

static void report(const struct pp_mpi_scope *s, int rc, uint64_t sent, uint64_t received)
{
	int saved = errno;

	pp_mpi_collector->collective(s->call, s->peer, sent > received ? sent : received, s->thread->messages, rc != MPI_SUCCESS);
	s->thread->messages = 0;
	errno = saved;
}

/* `bytes` are read from the arguments only where the call took them. */
#define PP_COLL_BYTES(root_, sent_, received_)                                                                                     \
	uint64_t sent = 0, received = 0;                                                                                           \
	if (rc == MPI_SUCCESS && scope.comm) {                                                                                     \
		enum pp_role role = root_ == PP_NO_PEER ? PP_ROLE_LEAF : pp_role(scope.comm, root_);                               \
		(void)role;                                                                                                        \
		sent = (uint64_t)(sent_);                                                                                          \
		received = (uint64_t)(received_);                                                                                  \
	}

#define PP_COLL_WRAPPER(symbol, params, args, on, root_, sent_, received_, record)                                                 \
	PP_COLL_OPEN(symbol, params, args, on, root_)                                                                              \
	if (scope.recording || pp_mpi_feeds_pattern(&scope, on)) {                                                                 \
		PP_COLL_BYTES(root_, sent_, received_)                                                                             \
		if (scope.recording)                                                                                               \
			record;                                                                                                    \
		if (pp_mpi_feeds_pattern(&scope, on))                                                                              \
			report(&scope, rc, sent, received);                                                                        \
	}                                                                                                                          \
	PP_CLOSE(symbol)

#define PP_WRAP_COLL(...) PP_COLL_WRAPPER(__VA_ARGS__, pp_mpi_record(&scope, end, rc, sent, received, 0))
#define PP_WRAP_ICOLL(...) PP_COLL_WRAPPER(__VA_ARGS__, pp_correlation_record(&scope, end, rc, sent, received, request, 0, -1))

#include "mpi/pmpi_family.h"

#include "core/call/mpi_call.def"
#include "mpi/pmpi_large.def"
