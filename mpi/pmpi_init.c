/* Wrappers of MPI's begin and end, which activate and deactivate this library. Called as MPI_X or PMPI_X. */
#include "mpi/pmpi_init.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/base/libc.h"
#include "mpi/pmpi_later.h"
#include "mpi/pmpi_poll.h"
#include "mpi/pmpi_request.h"

static _Atomic uint32_t users; /* MPI_Init and open sessions, recorded or not */

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

static char wrapped[160]; /* a sentence about other libraries that wrap MPI, set once; "": there is none */

/* Each window's session has it. */
static void window(int on)
{
	struct pp_record r = {.kind = PP_RECORD_REMARK, .length = (uint32_t)strlen(wrapped)};
	uint32_t inside = r.length < PP_TEXT_INLINE ? r.length : PP_TEXT_INLINE;

	if (!on || !wrapped[0] || !atomic_load_explicit(&pp_mpi_wiped.active, memory_order_relaxed))
		return;
	r.tick = pp_tick_now();
	memcpy(r.range.text, wrapped, inside);
	pp_mpi_put(&r, wrapped + inside, r.length - inside);
}

static void find_wrappers(void)
{
	char names[128];

	pp_mpi_wrappers(names, sizeof names);
	if (names[0])
		snprintf(wrapped, sizeof wrapped, "MPI is also wrapped by %s", names);
}

static const struct pp_source_ops source = {.name = "mpi", .window = window, .flush = flush, .thread_end = pp_poll_flush};

static void announce(struct pp_comm *c)
{
	if (c && atomic_load_explicit(pp_mpi_recording, memory_order_relaxed))
		pp_comm_announce(c);
}

/* MPI's thread level must not be asked without MPI_Init. */
static void begin(const struct podprof_collector *collector, int by_session)
{
	static int is_known;

	pp_tick_kind = *collector->tick_kind;
	pp_mpi_recording = collector->recording;
	pp_mpi_pattern = collector->pattern;
	pp_mpi_bell = collector->bell;
	pp_mpi_acknowledged = collector->acknowledged;
	collector->mpi_state(PP_MPI_RUNS);
	if (by_session)
		collector->coordinator(PP_COORDINATOR_NONE, "it uses MPI sessions, without MPI_COMM_WORLD");
	pp_request_shared = by_session || calls_overlap();
	if (!is_known) {
		find_wrappers();
		collector->add_source(&source);
		pp_at_fork(forked);
		pp_wipe_on_fork(&pp_mpi_wiped, sizeof pp_mpi_wiped);
	}
	is_known = 1;
	atomic_store_explicit(&pp_mpi_wiped.active, 1, memory_order_release);
	window(atomic_load_explicit(pp_mpi_recording, memory_order_relaxed) != 0);
}

/* Finds the collector, claims, registers world and self. session NULL: after MPI_Init. */
static void activate(const pp_session *session)
{
	int runs = (int)atomic_load_explicit(&pp_mpi_wiped.active, memory_order_relaxed), saved = errno;
	const struct podprof_collector *collector;

	if (runs && session)
		goto out;
	collector = dlsym(RTLD_DEFAULT, "podprof_collector");
	if (!collector || collector->size != sizeof *collector)
		goto out;
	if (!pp_abi_find(&pp_mpi_names))
		goto out;
	if (!session)
		pp_abi_learn(&pp_mpi_names);
	pp_mpi_collector = collector;
	if (session ? pp_comm_start_session(*session) : pp_comm_start())
		goto out;
	if (!runs && !collector->claim(PP_EVIDENCE_MPI, pp_comm_world_rank(), pp_comm_world_size()))
		goto out;
	if (pp_comm_place(collector->rank(), session != NULL))
		goto out;
	if (!runs)
		begin(collector, session != NULL);
	if (!session) {
		announce(pp_comm_find(PP_KEY(pp_mpi_names.world)));
		announce(pp_comm_find(PP_KEY(pp_mpi_names.self)));
		announce(pp_comm_parent());
	}
out:
	errno = saved;
}

/* Counts what was not correlated before it, records nothing after it. */
static void deactivate(void)
{
	static const char text[] = "MPI requests not tied";
	_Static_assert(sizeof text <= PP_TEXT_INLINE, "fits inline");
	uint64_t uncorrelated;

	if (!atomic_load_explicit(&pp_mpi_wiped.active, memory_order_acquire))
		return;
	uncorrelated = pp_request_uncorrelated();
	if (uncorrelated && atomic_load_explicit(pp_mpi_recording, memory_order_relaxed)) {
		struct pp_record r = {.tick = pp_tick_now(), .kind = PP_RECORD_COUNTER, .length = sizeof text - 1};

		r.counter.value = (double)uncorrelated;
		memcpy(r.counter.text, text, sizeof text);
		pp_mpi_put(&r, NULL, 0);
	}
	atomic_store_explicit(&pp_mpi_wiped.active, 0, memory_order_release);
	pp_mpi_collector->mpi_state(PP_MPI_OVER);
}

void pp_mpi_ended(void)
{
	if (atomic_fetch_sub(&users, 1) == 1)
		deactivate();
}

/* The call that activates this library began before that. */
int pp_mpi_begun(struct pp_mpi_thread *t, enum pp_mpi_row call, const pp_tick begin[2], int rc, const pp_session *session)
{
	struct pp_mpi_scope s;

	if (rc == MPI_SUCCESS) {
		atomic_fetch_add(&users, 1);
		pp_later_attach();
		activate(session);
	}
	if (rc == MPI_SUCCESS && !session)
		pp_coord_start_all((int)atomic_load_explicit(&pp_mpi_wiped.active, memory_order_relaxed));
	if (rc != MPI_SUCCESS || !atomic_load_explicit(&pp_mpi_wiped.active, memory_order_relaxed)) {
		t->depth = 0;
		return rc;
	}
	if (pp_tick_kind != PP_TICK_RAW)
		pp_poll_start(pp_tick_counter() - begin[0], pp_tick_raw() - begin[1]);
	pp_mpi_enter(&s, t, call, 0, PP_NO_PEER, 0);
	if (s.recording) {
		pp_tick end = pp_mpi_end(&s);

		s.begin = begin[pp_tick_kind == PP_TICK_RAW];
		pp_mpi_record(&s, end, rc, 0, 0, 0);
	}
	pp_mpi_leave(&s);
	return rc;
}

PP_ENTRIES(Init, (int *argc, char ***argv), (argc, argv))
{
	struct pp_mpi_thread *t = &pp_mpi_thread;
	const pp_tick begin[2] = {pp_tick_counter(), pp_tick_raw()};
	int rc;

	PP_REAL(Init)
	if (t->depth)
		return real(argc, argv);
	t->depth = 1;
	pp_coord_before();
	rc = real(argc, argv);
	return pp_mpi_begun(t, PP_MPI_CALL_Init, begin, rc, NULL);
}

PP_ENTRIES(Init_thread, (int *argc, char ***argv, int required, int *provided), (argc, argv, required, provided))
{
	struct pp_mpi_thread *t = &pp_mpi_thread;
	const pp_tick begin[2] = {pp_tick_counter(), pp_tick_raw()};
	int rc;

	PP_REAL(Init_thread)
	if (t->depth)
		return real(argc, argv, required, provided);
	t->depth = 1;
	pp_coord_before();
	rc = real(argc, argv, required, provided);
	return pp_mpi_begun(t, PP_MPI_CALL_Init_thread, begin, rc, NULL);
}

PP_ENTRIES(Finalize, (void), ())
{
	struct pp_mpi_thread *thread = &pp_mpi_thread;
	struct pp_mpi_scope scope;
	pp_tick end;
	int rc;

	PP_REAL(Finalize)
	if (!pp_mpi_seen(thread))
		return real();
	pp_mpi_enter(&scope, thread, PP_MPI_CALL_Finalize, 0, PP_NO_PEER, 0);
	pp_coord_stop_all();
	rc = real();
	end = pp_mpi_end(&scope);
	if (scope.recording)
		pp_mpi_record(&scope, end, rc, 0, 0, 0);
	pp_mpi_leave(&scope);
	pp_mpi_ended();
	return rc;
}

/* It does not return: recorded first, and the thread's struct pp_where keeps naming it. */
PP_ENTRIES(Abort, (MPI_Comm comm, int code), (comm, code))
{
	struct pp_mpi_thread *t = &pp_mpi_thread;
	struct pp_mpi_scope s;

	PP_REAL(Abort)
	if (!pp_mpi_seen(t))
		return real(comm, code);
	pp_mpi_enter(&s, t, PP_MPI_CALL_Abort, PP_KEY(comm), PP_NO_PEER, 0);
	if (s.recording)
		pp_mpi_record(&s, s.begin, MPI_SUCCESS, 0, 0, 0);
	return real(comm, code);
}
