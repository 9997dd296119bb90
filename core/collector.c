/* Wiring of stages 1-3, and the life of a rank: claim, fork, exit; the table of services for sources. Called by the sources through
 * that table, and by libc. */
#include "core/collector.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/env.h"
#include "core/base/libc.h"
#include "core/base/now.h"
#include "core/base/opt.h"
#include "core/base/parse.h"
#include "core/coord/arrive.h"
#include "core/coord/claim.h"
#include "core/coord/self.h"
#include "core/ending.h"
#include "core/header.h"
#include "core/recording.h"
#include "core/ring/notice.h"
#include "core/ring/thread_ring.h"
#include "core/source/services.h"
#include "core/source/source_list.h"
#include "core/unrecorded.h"
#include "core/window/by_signal.h"
#include "core/window/pattern.h"
#include "core/window/trigger.h"

enum { LAST_FLUSH_MS = 1000 }; /* deadline of the sources' flush at the end */

enum { BUSY_MS = 100, BUSY_MARKS = 1 << 12 }; /* while another process of the rank has locked the claim */

__attribute__((visibility("default"))) extern struct podprof_collector podprof_collector; /* `bell` is set at the claim */

static _Atomic uint32_t claiming;   /* 1 while one thread is inside */
static _Atomic uint32_t mpi_state;  /* enum pp_mpi_state; may be set before the claim */
static int claim_fd = -1;           /* open for life: it holds this rank's lock */
static int first_fd = -1;           /* open for life too: the lock of the number before a process group gave another one */
static uint32_t is_beside;          /* another process has locked the rank's claim first */
static int is_abandoned;            /* a forked child: the rings are its parent's */
static int32_t born[PP_CLAIM_ROWS]; /* values of the launcher's variables when this process began */
static pid_t born_in;
static _Atomic uint32_t asked_forked;
static int follows_exit, follows_forks; /* the handlers are registered; once per process image */
static int64_t patience;                /* seconds that a rank that ends without an error waits for its files */

/* A forked child: from now on this process is not the rank. */
static void abandon(void)
{
	atomic_store(&pp_wiped.is_rank, 0);
	atomic_store(&claiming, 0);
	atomic_store(&asked_forked, 0);
	atomic_store(&pp_wiped.phase, PP_PHASE_UNDECIDED); /* it may give itself a number later */
	is_abandoned = 1;
	if (claim_fd >= 0)
		close(claim_fd); /* a copy: the parent keeps the lock */
	if (first_fd >= 0)
		close(first_fd);
	claim_fd = first_fd = -1;
	atomic_store(&mpi_state, PP_MPI_NEVER); /* the parent's */
	pp_self.owner = 0;
	pp_self.control = NULL; /* it may be of a claim in another spool */
	pp_rings_abandon();
}

/* This process begins: in the constructor, and in a forked child. */
static void begin(void)
{
	pp_claim_numbers(born);
	born_in = getpid();
	atomic_store(&asked_forked, 0);
}

static void child(void)
{
	if (pp_self.owner && (pp_rings_are_copied() || pp_self.owner != getpid()))
		abandon();
	begin();
}

static void follow_forks(void)
{
	if (follows_forks)
		return;
	follows_forks = 1;
	pp_at_fork(child);
}

void pp_collector_load(void)
{
	begin();
	follow_forks();
}

static int mpi_runs(void)
{
	uint32_t state = atomic_load(&mpi_state);

	return state == PP_MPI_RUNS || state == PP_MPI_OTHER_RUNS;
}

/* No record is written after it. */
static void finish(int status)
{
	struct pp_ring_header *h = pp_ring_pool.header;
	int64_t deadline = pp_now_ms() + LAST_FLUSH_MS;

	pp_sources_flush(deadline);
	pp_sources_stop(deadline);
	pp_trigger_stop();
	pp_recording_switch(0);
	atomic_store_explicit(&pp_wiped.phase, PP_PHASE_EXITING, memory_order_release);
	pp_ring_set_exit_status(h, status);
	pp_ring_set_state(h, PP_RANK_ENDING);
}

static void ending(int status, void *arg)
{
	int saved = errno;

	(void)arg;
	if (!pp_self.owner || pp_self.owner != getpid() || !pp_self_is_rank())
		return;
	finish(status);
	if (pp_ending_others_wait())
		return;
	/* Without MPI_Finalize the rank has failed, whatever its status: the other ranks hang until the launcher sees it end. */
	if ((status == 0 || status == PP_EXIT_STATUS_UNKNOWN) && patience > 0 && !mpi_runs())
		pp_ending_wait(patience);
	errno = saved;
}

/* For C libraries that do not pass the status. */
static void ending_somehow(void *arg)
{
	ending(PP_EXIT_STATUS_UNKNOWN, arg);
}

static void collector_end(int status)
{
	ending(status, NULL);
	pp_self.owner = 0;
}

/* This process is the rank: its end is followed from now on. */
static void follow_exit(void)
{
	const char *text = pp_env(pp_opt_table[PP_OPT_ID_WAIT].env);

	pp_self.owner = getpid();
	if (!text || !*text || pp_parse_int(text, &patience, NULL))
		pp_parse_int(pp_opt_table[PP_OPT_ID_WAIT].fallback, &patience, NULL);
	follow_forks();
	if (follows_exit)
		return;
	follows_exit = 1;
	pp_at_exit(ending, ending_somehow);
}

/* Value of an option for this rank. */
static const char *option(enum pp_opt_id id)
{
	const char *value = pp_env(pp_opt_table[id].env);

	return value && *value ? value : pp_opt_table[id].fallback;
}

/* podprof run has already reported what cannot be read. */
static void read_windows(struct pp_step_windows *ret_asked)
{
	int64_t every = 0;

	if (pp_step_windows_parse(option(PP_OPT_ID_STEPS), ret_asked, NULL))
		return;
	if (!pp_parse_int(option(PP_OPT_ID_EVERY), &every, NULL))
		pp_step_windows_repeat(ret_asked, every, NULL);
}

/* -1: as many as the sources need. */
static int64_t warm_up_steps(void)
{
	int64_t steps = -1;

	if (*option(PP_OPT_ID_WARM_UP) && pp_parse_int(option(PP_OPT_ID_WARM_UP), &steps, NULL))
		return -1;
	return steps;
}

static uint32_t level(void)
{
	uint32_t code = 0;

	if (pp_parse_level(option(PP_OPT_ID_LEVEL), &code, NULL))
		pp_parse_level(pp_opt_table[PP_OPT_ID_LEVEL].fallback, &code, NULL);
	return code;
}

/* A window of time: the keeper switches recording on. */
static int is_by_time(void)
{
	return *option(PP_OPT_ID_DELAY) || *option(PP_OPT_ID_DURATION) || *option(PP_OPT_ID_AT);
}

static int open_ring(struct pp_err *err)
{
	struct pp_step_windows asked = {0};
	struct pp_pool_options o = {.spool = pp_self.spool, .rank = pp_self.claim.rank, .local_size = pp_self.claim.local_size};
	int rc;

	if (pp_parse_bytes(option(PP_OPT_ID_RING_SIZE), &o.ring_bytes, NULL))
		pp_parse_bytes(pp_opt_table[PP_OPT_ID_RING_SIZE].fallback, &o.ring_bytes, NULL);
	rc = pp_rings_start(pp_sources_thread_end);
	if (rc)
		return pp_err_set(err, rc, "not recording: %s", strerror(-rc));
	rc = pp_pool_create(&pp_ring_pool, &o, err);
	if (rc)
		goto fail;
	read_windows(&asked);
	pp_ring_pool.may_grow = pp_self_has_keeper;
	pp_header_fill(pp_ring_pool.header, &pp_self.claim, &asked);
	pp_ring_set_claim_beside(pp_ring_pool.header, is_beside);
	pp_ring_set_mpi_state(pp_ring_pool.header, atomic_load(&mpi_state));
	rc = pp_pool_publish(&pp_ring_pool, err);
	if (rc)
		goto fail;
	if (pp_self.claim.rank == 0)
		pp_notice_start(pp_self_control(), pp_self_print);
	pp_trigger_level(level());
	pp_trigger_warm(warm_up_steps(), pp_sources_warm_ms, pp_recording_window_over);
	pp_trigger_start(&asked, !asked.count && is_by_time(), pp_self_control(), pp_recording_switch);
	podprof_collector.bell = pp_trigger_bell;
	if (asked.count)
		pp_pattern_start(!strcmp(option(PP_OPT_ID_STEP_RULE), "auto"));
	return 0;
fail:
	pp_pool_release(&pp_ring_pool);
	return rc;
}

static int try_claim(enum pp_grounds evidence, int rank, int size)
{
	static struct pp_err err; /* under `claiming`: a thread or a signal handler may have 8 KiB of stack */
	int rc;

	if (evidence != PP_EVIDENCE_CHANGED || !pp_claim_read_changed(&pp_self.claim, born))
		pp_claim_read(&pp_self.claim, rank, size);
	if (!pp_self.spool[0] && !pp_arrive(pp_self.claim.local_rank, pp_self.spool, sizeof(pp_self.spool)))
		return 0;
	if (pp_claim_is_spawned(pp_self.spool))
		return 0;
	claim_fd = pp_claim_take(&pp_self.claim, pp_self.spool, &is_beside, &err);
	if (claim_fd == -EBUSY)
		return -EBUSY;
	if (claim_fd < 0) {
		pp_self_print(err.text);
		pp_unrecorded_is_reported();
		return 0;
	}
	pp_tick_init();
	rc = open_ring(&err);
	if (rc) {
		pp_self_print(err.text);
		pp_unrecorded_is_reported();
		close(claim_fd);
		claim_fd = -1;
		return 0;
	}
	follow_exit();
	pp_by_signal_start(option(PP_OPT_ID_SIGNAL));
	pp_sources_start();
	return 1;
}

/* The kernel releases the lock of a killed holder with a delay. Marks try again, each time after twice as many; MPI_Init and a
 * process group, which happen once, wait for a moment. */
static void try_again(enum pp_grounds evidence, int rank, int size)
{
	static uint32_t asked;
	int is_once = evidence == PP_EVIDENCE_MPI || evidence == PP_EVIDENCE_GROUP, rc;

	asked++;
	if (!is_once && (asked & (asked - 1)))
		return;
	rc = try_claim(evidence, rank, size);
	for (int i = 0; is_once && rc == -EBUSY && i < BUSY_MS; i++) {
		pp_nap_ms(1);
		rc = try_claim(evidence, rank, size);
	}
	if (rc == -EBUSY && !is_once && asked < BUSY_MARKS)
		return;
	if (rc > 0) {
		/* In this order: it must not overrule a mark of another thread that switches recording off. */
		pp_recording_switch(1);
		atomic_store_explicit(&pp_wiped.is_rank, 1, memory_order_release);
	}
	atomic_store_explicit(&pp_wiped.phase, PP_PHASE_DECIDED, memory_order_release);
}

/* A forked child that marks steps is a rank only if it has given itself another number. Checked each time after twice as many
 * marks. */
static int is_changed(void)
{
	uint32_t asked = atomic_fetch_add(&asked_forked, 1) + 1;
	struct pp_claim now;

	if (asked >= BUSY_MARKS)
		atomic_store_explicit(&pp_wiped.phase, PP_PHASE_DECIDED, memory_order_release);
	return !(asked & (asked - 1)) && born_in == getpid() && pp_claim_read_changed(&now, born);
}

static int collector_claim(enum pp_grounds evidence, int rank, int size)
{
	uint32_t idle = 0;
	int saved = errno;

	if (atomic_load_explicit(&pp_wiped.phase, memory_order_acquire) != PP_PHASE_UNDECIDED)
		return pp_self_is_rank();
	if (pp_rings_are_copied() && !is_abandoned) { /* forked past libc's handlers: its recording and phase are wiped */
		claim_fd = first_fd = -1;             /* left open: the child may share its parent's descriptors */
		abandon();
		return 0;
	}
	/* A forked child is a rank only by MPI_Init, a process group or a number of its own: marks of DataLoader workers do not
	 * count. */
	if (evidence == PP_EVIDENCE_MARK && pp_self_is_forked()) {
		if (!is_changed())
			return 0;
		evidence = PP_EVIDENCE_CHANGED;
	}
	if (!atomic_compare_exchange_strong(&claiming, &idle, 1)) {
		/* Another thread is inside (or this one, below a signal handler): only MPI_Init and a process group wait for
		 * it, with a deadline. */
		for (int i = 0; (evidence == PP_EVIDENCE_MPI || evidence == PP_EVIDENCE_GROUP) && i < 1000; i++) {
			if (atomic_load_explicit(&pp_wiped.phase, memory_order_acquire) != PP_PHASE_UNDECIDED)
				break;
			pp_nap_ms(1);
		}
		errno = saved;
		return pp_self_is_rank();
	}
	if (atomic_load_explicit(&pp_wiped.phase, memory_order_acquire) == PP_PHASE_UNDECIDED) {
		if (is_abandoned) {
			is_abandoned = 0;
			pp_rings_revive();
			pp_recording_reset();
		}
		try_again(evidence, rank, size);
	}
	atomic_store(&claiming, 0);
	errno = saved;
	return pp_self_is_rank();
}

/* This process is the rank already, under another number or in a smaller job; its records belong to the new number. It keeps
 * the first lock, so that no child takes that number. */
static void renumber(int rank, int size)
{
	struct pp_claim now = {
	        .rank = rank, .size = size, .local_rank = -1, .local_size = pp_self.claim.local_size, .by = PP_CLAIM_MEMBER};
	struct pp_ring_header *h = pp_ring_pool.header;
	struct pp_err err = {""};

	if (rank == pp_self.claim.rank) {
		now.local_rank = pp_self.claim.local_rank;
	} else {
		int fd = pp_claim_take(&now, pp_self.spool, &is_beside, &err);

		if (fd < 0)
			return;
		/* As sure as before: another process may be the rank of the first number and not have claimed it yet. */
		if (first_fd < 0)
			first_fd = claim_fd;
		claim_fd = fd;
	}
	pp_self.claim = now;
	pp_ring_set_claim_beside(h, is_beside);
	h->size = size; /* before the number: the keeper must not see a rank beyond the job */
	h->local_rank = now.local_rank;
	h->rank = rank;
}

static int collector_claim_group(int rank, int size, int own)
{
	struct pp_claim launched;

	if (pp_rings_are_copied() && !is_abandoned) { /* as in collector_claim() */
		claim_fd = first_fd = -1;
		abandon();
	}
	if (atomic_load_explicit(&pp_wiped.phase, memory_order_acquire) == PP_PHASE_EXITING)
		return 0;
	if (pp_self_is_rank()) {
		if (pp_claim_is_group(&pp_self.claim, rank, size, own))
			renumber(rank, size);
		if (size > 1 && size == pp_self.claim.size) {
			pp_claim_raise(claim_fd, PP_CLAIM_MEMBER);
			pp_ring_set_claim_by(pp_ring_pool.header, PP_CLAIM_MEMBER);
		}
		return 1;
	}
	/* A child of a rank, or a process beside one. */
	atomic_store_explicit(&pp_wiped.phase, PP_PHASE_UNDECIDED, memory_order_release);
	pp_claim_read(&launched, -1, -1);
	if (!pp_claim_is_group(&launched, rank, size, own)) {
		int is_whole = size > 1 && size == launched.size;

		rank = is_whole ? launched.rank : -1;
		size = is_whole ? launched.size : -1;
	}
	return collector_claim(PP_EVIDENCE_GROUP, rank, size);
}

static struct pp_ring_cursor *collector_cursor(void)
{
	struct pp_thread_ring *t = pp_thread_self;

	if (!t->slot && pp_self_is_rank() && pp_thread_enter())
		t = pp_thread_self;
	return &t->cursor;
}

/* Once, by rank 0; before the claim the launcher's variables give its number. */
static void report_other_mpi(void)
{
	struct pp_claim c;

	pp_claim_read(&c, -1, -1);
	if (c.rank != 0 || !pp_env("PODPROF_SPOOL"))
		return;
	pp_self_print("podprof has no wrappers for the job's MPI library: its calls are not recorded (podprof doctor). Marks are: "
	              "podprof_step_begin(), podprof_range_push()");
	pp_unrecorded_is_reported();
}

static void collector_mpi_state(uint32_t state)
{
	if (atomic_exchange(&mpi_state, state) == PP_MPI_NEVER && state == PP_MPI_OTHER_RUNS)
		report_other_mpi();
	if (pp_self_is_rank())
		pp_ring_set_mpi_state(pp_ring_pool.header, state);
}

static void collector_coordinator(enum pp_coordinator what, const char *why)
{
	struct pp_ring_header *h = pp_ring_pool.header;

	if (!pp_self_is_rank())
		return;
	snprintf(h->coordinator_why, sizeof(h->coordinator_why), "%s", why);
	pp_ring_set_coordinator(h, (uint32_t)what); /* publishes the reason */
}

static void collector_want_net(void)
{
	if (pp_self_is_rank())
		pp_ring_set_net_wanted(pp_ring_pool.header, 1);
}

static void collector_comm(const struct pp_ring_comm *row)
{
	if (pp_self_is_rank())
		pp_ring_comm_put(row);
}

static int collector_rank(void)
{
	return pp_self.claim.rank;
}

static void collector_comm_freed(uint64_t id)
{
	if (pp_self_is_rank())
		pp_ring_comm_drop(id);
}

struct podprof_collector podprof_collector = {
        .size = sizeof(struct podprof_collector),
        .claim = collector_claim,
        .rank = collector_rank,
        .recording = &pp_wiped.recording,
        .put = pp_ring_put,
        .where = pp_thread_where,
        .tick_kind = &pp_tick_kind,
        .mpi_state = collector_mpi_state,
        .say = pp_self_print,
        .cursor = collector_cursor,
        .pause = pp_recording_pause,
        .add_source = pp_source_add,
        .pattern = &pp_pattern_on,
        .collective = pp_pattern_collective,
        .message = pp_pattern_message,
        .acknowledged = &pp_trigger_acknowledged,
        .poll = pp_trigger_poll,
        .coordinate = pp_trigger_coordinate,
        .spool = pp_self_spool,
        .coordinator = collector_coordinator,
        .want_net = collector_want_net,
        .comm = collector_comm,
        .comm_freed = collector_comm_freed,
        .claim_group = collector_claim_group,
        .end = collector_end,
};

extern struct podprof_collector pp_services __attribute__((alias("podprof_collector")));
