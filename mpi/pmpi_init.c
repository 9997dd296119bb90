/* Wrappers of MPI's begin and end: where this library wakes up and where it goes to sleep. Called as MPI_X or PMPI_X. */
#include "mpi/pmpi_poll.h"

/* The call that woke this library began before it was awake. */
static int init_done(struct pp_mpi_thread *t, enum pp_mpi_row call, pp_tick tsc, pp_tick raw, int rc)
{
	struct pp_mpi_scope s;

	if (rc == MPI_SUCCESS) {
		pp_mpi_activate();
		pp_coord_start_all((int)atomic_load_explicit(&pp_mpi_wiped.active, memory_order_relaxed));
	}
	if (rc != MPI_SUCCESS || !atomic_load_explicit(&pp_mpi_wiped.active, memory_order_relaxed)) {
		t->depth = 0;
		return rc;
	}
	if (pp_tick_kind != PP_TICK_RAW)
		pp_poll_start(pp_tick_counter() - tsc, pp_tick_raw() - raw);
	pp_mpi_enter(&s, t, call, NULL, PP_NO_PEER, 0);
	if (s.recording) {
		pp_tick end = pp_mpi_end(&s);

		s.begin = pp_tick_kind != PP_TICK_RAW ? tsc : raw;
		pp_mpi_record(&s, end, rc, 0, 0, 0);
	}
	pp_mpi_leave(&s);
	return rc;
}

PP_PUBLIC int MPI_Init(int *argc, char ***argv)
{
	struct pp_mpi_thread *t = &pp_mpi_thread;
	pp_tick tsc = pp_tick_counter(), raw = pp_tick_raw();
	int rc;

	PP_REAL(Init)
	if (t->depth)
		return real(argc, argv);
	t->depth = 1;
	pp_coord_before();
	rc = real(argc, argv);
	return init_done(t, PP_MPI_CALL_Init, tsc, raw, rc);
}
PP_BOTH(Init)

PP_PUBLIC int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
	struct pp_mpi_thread *t = &pp_mpi_thread;
	pp_tick tsc = pp_tick_counter(), raw = pp_tick_raw();
	int rc;

	PP_REAL(Init_thread)
	if (t->depth)
		return real(argc, argv, required, provided);
	t->depth = 1;
	pp_coord_before();
	rc = real(argc, argv, required, provided);
	return init_done(t, PP_MPI_CALL_Init_thread, tsc, raw, rc);
}
PP_BOTH(Init_thread)

static int finalize_other(void)
{
	int rc;

	PP_REAL(Finalize)
	rc = real();
	pp_mpi_other->mpi_state(PP_MPI_OTHER_OVER);
	return rc;
}

PP_PUBLIC int MPI_Finalize(void)
{
	if (pp_mpi_other)
		return finalize_other();
	PP_HEAD(Finalize, ())
	pp_mpi_enter(&scope, thread, PP_MPI_CALL_Finalize, NULL, PP_NO_PEER, 0);
	pp_coord_stop_all();
	rc = real();
	end = pp_mpi_end(&scope);
	if (scope.recording)
		pp_mpi_record(&scope, end, rc, 0, 0, 0);
	pp_mpi_leave(&scope);
	pp_mpi_deactivate();
	return rc;
}
PP_BOTH(Finalize)

/* It does not come back: recorded first, and the where-am-I line stays at it. */
PP_PUBLIC int MPI_Abort(MPI_Comm comm, int code)
{
	struct pp_mpi_thread *t = &pp_mpi_thread;
	struct pp_mpi_scope s;

	PP_REAL(Abort)
	if (!pp_mpi_seen(t))
		return real(comm, code);
	pp_mpi_enter(&s, t, PP_MPI_CALL_Abort, comm, PP_NO_PEER, 0);
	if (s.recording)
		pp_mpi_record(&s, s.begin, MPI_SUCCESS, 0, 0, 0);
	return real(comm, code);
}
PP_BOTH(Abort)
