/* podprof's communicator and its operations; see coord_mpi.h. Called by pmpi_init.c and the wrappers. */
#include "mpi/coord_mpi.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#include "core/base/now.h"
#include "mpi/coord_agree.h"
#include "mpi/coord_invite.h"
#include "mpi/coord_part.h"
#include "mpi/dispatch/next.h"
#include "mpi/pmpi_collector.h"

enum { CLOSE_MS = 20000, EAGER_TESTS = 200, NAP_NS = 100000 };

_Atomic uint32_t pp_coord_busy;

static struct pp_mpi_calls mpi; /* looked up before the rank's mark is set: a rank with a mark can call all of them */
static struct pp_part part;
static int may_take_part;

static MPI_Comm comm;
static int is_open; /* the communicator has to be closed */
static int is_lost; /* an operation failed on this rank: it joins no agreement any more, but the others wait for it to close */
static int level;
static pthread_t initial; /* thread that called MPI_Init */

/* Locked by an exchange. It protects: */
static _Atomic uint32_t held;
static struct pp_agree agree = {.over = 1};
static MPI_Request request;
static int64_t given[PP_AGREE_VALUES], got[PP_AGREE_VALUES]; /* of the pending operation */

static _Atomic uint32_t polls; /* since the operation was issued, by calls that do not wait for it */

static int find_calls(struct pp_mpi_calls *c)
{
	int all = 1;

#define FIND(member, symbol) all &= (c->member = (__typeof__(c->member))pp_mpi_real("PMPI_" symbol)) != NULL
	FIND(dup, "Comm_dup");
	FIND(free, "Comm_free");
	FIND(get_errhandler, "Comm_get_errhandler");
	FIND(set_errhandler, "Comm_set_errhandler");
	FIND(errhandler_free, "Errhandler_free");
	FIND(comm_size, "Comm_size");
	FIND(query_thread, "Query_thread");
	FIND(allreduce, "Allreduce");
	FIND(bcast, "Bcast");
	FIND(iallreduce, "Iallreduce");
	FIND(test, "Test");
#undef FIND
	return all && pp_abi_find(&c->of) && c->of.errors_return && c->of.int64 && c->of.byte && c->of.max;
}

void pp_coord_before(void)
{
	int saved = errno;

	may_take_part = find_calls(&mpi);
	if (may_take_part)
		pp_part_mark(&part, getenv("PODPROF_SPOOL"));
	errno = saved;
}

static void say(enum pp_coordinator what, const char *why)
{
	if (pp_mpi_collector)
		pp_mpi_collector->coordinator(what, why);
}

static int take(void)
{
	return !atomic_exchange_explicit(&held, 1, memory_order_acquire);
}

static void give(void)
{
	atomic_store_explicit(&held, 0, memory_order_release);
}

/* Locked. It is unknown which operations of this rank the others have seen. Its next one is the last of all: it joins whatever
 * they have pending, or their last one. */
static void give_up(const char *why)
{
	is_lost = 1;
	agree = (struct pp_agree){.over = 1};
	atomic_store_explicit(&pp_coord_busy, 0, memory_order_relaxed);
	say(PP_COORDINATOR_NONE, why);
}

/* Locked. `given` is filled. */
static void issue(void)
{
	atomic_store_explicit(&polls, 0, memory_order_relaxed);
	if (mpi.iallreduce(given, got, PP_AGREE_VALUES, mpi.of.int64, mpi.of.max, comm, &request) == MPI_SUCCESS)
		atomic_store_explicit(&pp_coord_busy, 1, memory_order_relaxed);
	else
		give_up("MPI_Iallreduce failed");
}

/* Locked. Tests the pending operation. */
static void test(void)
{
	int done = 0;

	if (!agree.pending)
		return;
	if (mpi.test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) {
		give_up("MPI_Test of an agreement failed");
	} else if (done) {
		atomic_store_explicit(&pp_coord_busy, 0, memory_order_relaxed);
		pp_agree_end(&agree, got);
	}
}

/* May this thread call MPI now? */
static int is_allowed(const struct pp_mpi_thread *t)
{
	if (t->depth && !t->is_polling)
		return 0;
	if (level >= MPI_THREAD_MULTIPLE)
		return 1;
	if (level == MPI_THREAD_SERIALIZED)
		return t->is_polling != 0;
	return pthread_equal(pthread_self(), initial);
}

/* Locks, with the thread's guard up. 0: not on this thread, or not now. */
static int enter(struct pp_mpi_thread *t)
{
	if (!is_allowed(t) || !take())
		return 0;
	t->depth = 1;
	atomic_signal_fence(memory_order_seq_cst);
	return 1;
}

static void leave(struct pp_mpi_thread *t)
{
	atomic_signal_fence(memory_order_seq_cst);
	t->depth = t->is_polling;
	give();
}

static int ask(uint32_t number, int64_t step)
{
	struct pp_mpi_thread *t = &pp_mpi_thread;
	int64_t agreed;
	int rc;

	if (!enter(t))
		return -EAGAIN;
	test();
	if (pp_agree_begin(&agree, number, step, given))
		issue();
	rc = pp_agree_answer(&agree, number, &agreed);
	leave(t);
	return rc > 0 ? 0 : rc;
}

static int answer(uint32_t number, int64_t *ret_step)
{
	struct pp_mpi_thread *t = &pp_mpi_thread;
	int rc;

	if (!enter(t))
		return 0;
	test();
	rc = pp_agree_answer(&agree, number, ret_step);
	leave(t);
	return rc;
}

static const struct pp_coord_ops ops = {.name = "mpi", .ask = ask, .answer = answer};

/* The 1st, 2nd, 4th, 8th ... call: none waits for the result, and the next request reads it first. */
static int is_due(void)
{
	uint32_t n = atomic_load_explicit(&polls, memory_order_relaxed) + 1;

	atomic_store_explicit(&polls, n, memory_order_relaxed);
	return !(n & (n - 1));
}

void pp_coord_poll(struct pp_mpi_thread *t)
{
	int saved = errno;

	t->is_polling = 1;
	if (pp_mpi_is_rung()) {
		pp_mpi_collector->poll();
	} else if (is_due() && enter(t)) {
		test();
		leave(t);
	}
	t->is_polling = 0;
	errno = saved;
}

void pp_coord_abandon(void)
{
	agree = (struct pp_agree){.over = 1};
	atomic_store_explicit(&pp_coord_busy, 0, memory_order_relaxed);
	atomic_store_explicit(&held, 0, memory_order_relaxed);
	is_open = 0;
}

/* An error in MPI_COMM_WORLD would end the job: ours is set to return errors. values[0]: this rank has no duplicate. */
static int dup_all(int64_t *values, int64_t *ret_all, int count)
{
	MPI_Errhandler had, stored;
	int known = mpi.get_errhandler(mpi.of.world, &had) == MPI_SUCCESS, rc;

	mpi.set_errhandler(mpi.of.world, mpi.of.errors_return);
	values[0] = mpi.dup(mpi.of.world, &comm) != MPI_SUCCESS;
	if (!values[0])
		mpi.set_errhandler(comm, mpi.of.errors_return);
	rc = mpi.allreduce(values, ret_all, count, mpi.of.int64, mpi.of.max, mpi.of.world);
	if (known) {
		stored = had;
		mpi.errhandler_free(&had); /* drops the reference that MPI returned; a predefined one stays */
		mpi.set_errhandler(mpi.of.world, stored);
	}
	return rc == MPI_SUCCESS ? 0 : -EIO;
}

/* All ranks do this, in the same order; returns why there is no agreement, NULL: there is. */
static const char *begin_all(const struct podprof_collector *collector)
{
	struct pp_invite me = {.collector = collector, .rank = part.rank, .is_first = pp_part_is_first(&part)};
	int64_t mine[4] = {0, !collector, 0, 0}, all[4] = {0};

	me.keeper = pp_invite_keeper(collector ? collector->spool() : NULL);
	mine[2] = me.keeper;
	mine[3] = -me.keeper;
	if (dup_all(mine, all, 4)) {
		is_open = is_lost = !mine[0];
		return "MPI_Allreduce failed in MPI_Init";
	}
	if (all[0]) {
		if (!mine[0])
			mpi.free(&comm);
		return "MPI_Comm_dup failed on a rank";
	}
	if (all[2] != -all[3] && pp_invite_all(&me, &mpi, comm)) {
		is_open = is_lost = !all[1];
		return "MPI_Bcast failed in MPI_Init";
	}
	is_open = !all[1];
	if (is_open)
		return NULL;
	mpi.free(&comm);
	return "a rank does not record";
}

void pp_coord_start_all(int records)
{
	const struct podprof_collector *g = records ? pp_mpi_collector : NULL;
	const char *why = "podprof does not know this MPI";
	int saved = errno, size = -1;

	if (may_take_part)
		why = pp_part_why_not(&part, mpi.comm_size(mpi.of.world, &size) == MPI_SUCCESS ? size : part.size);

	if (!why)
		why = begin_all(g);
	if (!why && g) {
		if (mpi.query_thread(&level) != MPI_SUCCESS)
			level = MPI_THREAD_SINGLE;
		initial = pthread_self();
		request = mpi.of.request_null;
		agree = (struct pp_agree){.over = 0};
		g->coordinate(&ops);
	}
	say(why ? PP_COORDINATOR_NONE : PP_COORDINATOR_MPI, why ? why : "");
	errno = saved;
}

/* Locked. 1: closed; 0: not yet; -EIO: it cannot be closed. */
static int close_lost(void)
{
	static int64_t last[PP_AGREE_VALUES], result[PP_AGREE_VALUES]; /* a hung operation may still access the other buffers */
	static struct pp_agree closing;
	int done = 0;

	if (pp_agree_close(&closing, last) &&
	    mpi.iallreduce(last, result, PP_AGREE_VALUES, mpi.of.int64, mpi.of.max, comm, &request) != MPI_SUCCESS)
		return -EIO;
	return mpi.test(&request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS ? done : -EIO;
}

/* Locked. The same for any rank. */
static int close_step(void)
{
	if (is_lost)
		return close_lost();
	test();
	if (pp_agree_close(&agree, given))
		issue();
	return is_lost ? 0 : agree.over;
}

/* Locked. Waits for the other ranks, as the real MPI_Finalize does; an operation that is pending at the deadline continues in
 * there. */
static int close_all(int64_t deadline)
{
	const struct timespec nap = {.tv_nsec = NAP_NS};
	int rc = close_step();

	for (int i = 0; !rc && pp_now_ms() < deadline; i++) {
		if (i < EAGER_TESTS)
			sched_yield();
		else
			nanosleep(&nap, NULL);
		rc = close_step();
	}
	return rc > 0;
}

void pp_coord_stop_all(void)
{
	int64_t deadline;
	int saved = errno;

	if (!is_open)
		return;
	deadline = pp_now_ms() + CLOSE_MS;
	while (!take()) {
		if (pp_now_ms() >= deadline)
			goto out; /* another thread hangs in libmpi with the lock */
		sched_yield();
	}
	if (close_all(deadline))
		mpi.free(&comm);
	agree = (struct pp_agree){.over = 1}; /* MPI_Finalize completes what is still pending: a later mark must not test it */
	is_open = 0;
	atomic_store_explicit(&pp_coord_busy, 0, memory_order_relaxed);
	give();
out:
	errno = saved;
}
