/* Wrappers of epochs that have a group: post, start, complete, wait. A group of one is the peer of the epoch, also in the calls
 * that end it. Called by the application as MPI_X or PMPI_X. */
#include "mpi/pmpi_poll.h"
#include "mpi/pmpi_source.h"

static int group_size(MPI_Group group, int *ret_size)
{
	PP_OWN(Group_size)
	return own(group, ret_size);
}

static int world_rank(MPI_Group group, int *ret_rank)
{
	int first = 0;

	PP_OWN(Group_translate_ranks)
	return own(group, 1, &first, pp_comm_world_group, ret_rank);
}

/* World rank of a group's only member; -1: it has none, or more, or one of another world. */
static int32_t only_member(MPI_Group group)
{
	int size = 0, rank = -1;

	if (group_size(group, &size) || size != 1 || world_rank(group, &rank))
		return -1;
	return rank < 0 ? -1 : pp_comm_rank_of(rank);
}

/* The group is read only after MPI accepted it: the window's error handler must see an error in it. */
#define PP_EPOCH_OPEN(symbol, peer_of)                                                                                             \
	PP_OPEN(symbol, (MPI_Group group, int hint, MPI_Win win), (group, hint, win), win, PP_NO_PEER, 0)                          \
	PP_CALL((group, hint, win))                                                                                                \
	if (rc == MPI_SUCCESS && scope.comm)                                                                                       \
		scope.peer = scope.comm->peer_of = only_member(group);                                                             \
	PP_CLOSE_PLAIN(symbol)

static void show(struct pp_mpi_scope *s, int32_t peer)
{
	s->peer = s->where->peer = peer;
}

#define PP_EPOCH_CLOSE(symbol, peer_of)                                                                                            \
	PP_OPEN(symbol, (MPI_Win win), (win), win, PP_NO_PEER, 0)                                                                  \
	if (scope.comm)                                                                                                            \
		show(&scope, scope.comm->peer_of);                                                                                 \
	PP_CALL((win))                                                                                                             \
	if (rc == MPI_SUCCESS && scope.comm)                                                                                       \
		scope.comm->peer_of = -1;                                                                                          \
	PP_CLOSE_PLAIN(symbol)

PP_EPOCH_OPEN(Win_start, started)
PP_EPOCH_CLOSE(Win_complete, started)
PP_EPOCH_OPEN(Win_post, posted)
PP_EPOCH_CLOSE(Win_wait, posted)

PP_ENTRIES(Win_test, (MPI_Win win, int *flag), (win, flag))
{
	int found;
	PP_HEAD(Win_test, (win, flag))
	pp_mpi_enter(&scope, thread, PP_MPI_CALL_Win_test, PP_KEY(win), PP_NO_PEER, 0);
	if (scope.comm)
		show(&scope, scope.comm->posted);
	rc = real(win, flag);
	end = pp_mpi_end(&scope);
	found = rc != MPI_SUCCESS || *flag;
	if (scope.comm && rc == MPI_SUCCESS && found)
		scope.comm->posted = -1;
	if (scope.recording && !found)
		pp_poll(&scope, end);
	else if (scope.recording)
		pp_mpi_record(&scope, end, rc, 0, 0, 0);
	PP_TAIL
}
