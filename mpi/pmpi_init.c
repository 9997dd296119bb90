/* Wrappers of MPI's begin and end, which activate and deactivate this library. Called as MPI_X or PMPI_X. */
#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "core/base/libc.h"
#include "mpi/pmpi_poll.h"
#include "mpi/pmpi_request.h"

static int find_names(void)
{
	pp_mpi_names.world = pp_mpi_object("ompi_mpi_comm_world");
	pp_mpi_names.self = pp_mpi_object("ompi_mpi_comm_self");
	pp_mpi_names.comm_null = pp_mpi_object("ompi_mpi_comm_null");
	pp_mpi_names.request_null = pp_mpi_object("ompi_request_null");
	pp_mpi_names.request_empty = pp_mpi_object("ompi_request_empty");
	return pp_mpi_names.world && pp_mpi_names.self && pp_mpi_names.comm_null && pp_mpi_names.request_null;
}

static int calls_overlap(void)
{
	__typeof__(&MPI_Query_thread) query = (__typeof__(&MPI_Query_thread))pp_mpi_real("PMPI_Query_thread");
	int level = MPI_THREAD_MULTIPLE;

	return !query || query(&level) != MPI_SUCCESS || level >= MPI_THREAD_MULTIPLE;
}

static void forked(void)
{
	atomic_store_explicit(&pp_mpi_wiped.active, 0, memory_order_relaxed);
	pp_coord_abandon();
}

static void flush(int64_t deadline_ms)
{
	(void)deadline_ms; /* a record of this thread is a few stores */
	pp_poll_flush();
}

static const struct pp_source_ops source = {.name = "mpi", .flush = flush, .thread_end = pp_poll_flush};

/* After a successful MPI_Init: finds the collector, claims, registers world and self. */
static void activate(void)
{
	const struct podprof_collector *collector;
	int saved = errno;

	if (atomic_load_explicit(&pp_mpi_wiped.active, memory_order_relaxed) || pp_mpi_collector)
		goto out;
	collector = dlsym(RTLD_DEFAULT, "podprof_collector");
	if (!collector || collector->size != sizeof *collector)
		goto out;
	if (!find_names()) {
		pp_mpi_other = collector;
		collector->mpi_state(PP_MPI_OTHER_RUNS);
		goto out;
	}
	pp_mpi_collector = collector;
	if (pp_comm_start())
		goto out;
	if (!collector->claim(PP_EVIDENCE_MPI, pp_comm_world_rank(), pp_comm_world_size()))
		goto out;
	pp_tick_kind = *collector->tick_kind;
	pp_mpi_recording = collector->recording;
	pp_mpi_pattern = collector->pattern;
	pp_mpi_bell = collector->bell;
	pp_mpi_acknowledged = collector->acknowledged;
	collector->mpi_state(PP_MPI_RUNS);
	collector->add_source(&source);
	pp_request_shared = calls_overlap();
	pp_at_fork(forked);
	pp_wipe_on_fork(&pp_mpi_wiped, sizeof pp_mpi_wiped);
	atomic_store_explicit(&pp_mpi_wiped.active, 1, memory_order_release);
	if (atomic_load_explicit(pp_mpi_recording, memory_order_relaxed)) {
		pp_comm_announce(pp_comm_find(pp_mpi_names.world));
		pp_comm_announce(pp_comm_find(pp_mpi_names.self));
		if (pp_comm_parent())
			pp_comm_announce(pp_comm_parent());
	}
out:
	errno = saved;
}

/* Around MPI_Finalize: counts what was not correlated before it, records nothing after it. */
static void deactivate(void)
{
	static const char text[] = "MPI requests not tied";
	_Static_assert(sizeof text <= PP_TEXT_INLINE, "fits inline");
	uint64_t uncorrelated = pp_request_uncorrelated();

	if (uncorrelated && atomic_load_explicit(pp_mpi_recording, memory_order_relaxed)) {
		struct pp_record r = {.tick = pp_tick_now(), .kind = PP_RECORD_COUNTER, .length = sizeof text - 1};

		r.counter.value = (double)uncorrelated;
		memcpy(r.counter.text, text, sizeof text);
		pp_mpi_put(&r, NULL, 0);
	}
	atomic_store_explicit(&pp_mpi_wiped.active, 0, memory_order_release);
	pp_mpi_collector->mpi_state(PP_MPI_OVER);
}

/* The call that activates this library began before that. */
static int init_done(struct pp_mpi_thread *t, enum pp_mpi_row call, pp_tick tsc, pp_tick raw, int rc)
{
	struct pp_mpi_scope s;

	if (rc == MPI_SUCCESS) {
		activate();
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
	deactivate();
	return rc;
}
PP_BOTH(Finalize)

/* It does not return: recorded first, and the thread's struct pp_where keeps naming it. */
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
