/* Wrappers of MPI 4's sessions, and of the communicators made from their groups. Called by the application as MPI_X or PMPI_X, by
 * way of pmpi_later.h. A session begins and ends recording as MPI_Init and MPI_Finalize do. There is no MPI_COMM_WORLD then, so
 * ranks are those of the process set mpi://WORLD, and no rank agrees with another over MPI. */
#include "mpi/pmpi_init.h"
#include "mpi/pmpi_made.h"

PP_ENTRIES(Session_init, (MPI_Info info, MPI_Errhandler errhandler, pp_session *session), (info, errhandler, session))
{
	struct pp_mpi_thread *t = &pp_mpi_thread;
	const pp_tick begin[2] = {pp_tick_counter(), pp_tick_raw()};
	int rc;

	PP_REAL(Session_init)
	if (t->depth)
		return real(info, errhandler, session);
	t->depth = 1;
	rc = real(info, errhandler, session);
	return pp_mpi_begun(t, PP_MPI_CALL_Session_init, begin, rc, session);
}

PP_ENTRIES(Session_finalize, (pp_session * session), (session))
{
	struct pp_mpi_thread *thread = &pp_mpi_thread;
	struct pp_mpi_scope scope;
	int rc, is_seen;
	pp_tick end;

	PP_REAL(Session_finalize)
	if (thread->depth)
		return real(session);
	is_seen = pp_mpi_seen(thread);
	if (is_seen)
		pp_mpi_enter(&scope, thread, PP_MPI_CALL_Session_finalize, 0, PP_NO_PEER, 0);
	rc = real(session);
	if (is_seen) {
		end = pp_mpi_end(&scope);
		if (scope.recording)
			pp_mpi_record(&scope, end, rc, 0, 0, 0);
		pp_mpi_leave(&scope);
	}
	if (rc == MPI_SUCCESS)
		pp_mpi_ended();
	return rc;
}

/* The call is the first collective on the communicator that it makes. */
static void made(struct pp_mpi_scope *s, MPI_Comm handle, const char *tag)
{
	struct pp_comm *c = pp_mpi_made_from_groups(s, handle, tag);

	if (!c)
		return;
	pp_mpi_on(s, c, atomic_load_explicit(&c->life, memory_order_relaxed), -1);
	atomic_store_explicit(&c->sequence, s->sequence + 1, memory_order_relaxed);
}

#define PP_FROM_GROUPS(symbol, params, args)                                                                                       \
	PP_ENTRIES(symbol, params, args)                                                                                           \
	{                                                                                                                          \
		PP_HEAD(symbol, args)                                                                                              \
		pp_mpi_enter(&scope, thread, PP_MPI_CALL_##symbol, 0, PP_NO_PEER, 0);                                              \
		PP_CALL(args)                                                                                                      \
		if (rc == MPI_SUCCESS)                                                                                             \
			made(&scope, *made_, tag);                                                                                 \
		if (scope.recording)                                                                                               \
			pp_mpi_record(&scope, end, rc, 0, 0, 0);                                                                   \
		PP_TAIL                                                                                                            \
	}

PP_FROM_GROUPS(Comm_create_from_group,
               (MPI_Group group, const char *tag, MPI_Info info, MPI_Errhandler errhandler, MPI_Comm *made_),
               (group, tag, info, errhandler, made_))
PP_FROM_GROUPS(Intercomm_create_from_groups,
               (MPI_Group group, int leader, MPI_Group remote, int remote_leader, const char *tag, MPI_Info info,
                MPI_Errhandler errhandler, MPI_Comm *made_),
               (group, leader, remote, remote_leader, tag, info, errhandler, made_))
