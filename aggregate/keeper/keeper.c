/* The keeper's life: lower its priority, drain while ranks record, close the window, wait for the ranks, remove the spool. See
 * keeper.h. */
#include "aggregate/keeper/keeper.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aggregate/keeper/capture/lookback.h"
#include "aggregate/keeper/capture/request.h"
#include "aggregate/keeper/capture/request_client.h"
#include "aggregate/keeper/capture/request_own.h"
#include "aggregate/keeper/capture/timed.h"
#include "aggregate/keeper/capture/windows.h"
#include "aggregate/keeper/cluster/pod.h"
#include "aggregate/keeper/cluster/pod_ranks.h"
#include "aggregate/keeper/cluster/pod_request.h"
#include "aggregate/keeper/missing.h"
#include "aggregate/keeper/pace.h"
#include "aggregate/keeper/records.h"
#include "aggregate/keeper/spawn.h"
#include "aggregate/keeper/successor.h"
#include "aggregate/keeper/unrecorded.h"
#include "aggregate/session/close.h"
#include "aggregate/spool/control.h"
#include "aggregate/spool/layout.h"
#include "aggregate/spool/ranks.h"
#include "aggregate/spool/settings.h"
#include "aggregate/spool/still.h"
#include "aggregate/spool/wake.h"
#include "core/base/now.h"

enum {
	BUSY_MS = 1,
	TURN_MS = 20,       /* between two turns while something is under way */
	CALM_TURN_MS = 250, /* while nothing is, and no rank records */
	SCAN_MS = 1000,     /* of a spool without changes */
	STILL_MS = 500,     /* between two looks at where ranks stand */
	SOON_MS = 2000,     /* a rank that has finalised MPI is expected to end within */
	EMPTY_MS = 60000,   /* without any ring or run process the keeper ends */
	ORPHAN_MS = 10000,  /* after the last run process has ended */
	BLIND_MS = 3000,    /* with a spool that cannot be read: removed, or no descriptor left */
	SOME_MS = 2000,     /* after all run processes seen are over, though fewer than announced */
	FULL_PERCENT = 50,
	LINGER_S = 5, /* beyond --wait, for ranks that are ending */
	LAST_ROUNDS = 8,
	GATHER_MS = 600000, /* limit for the session of several hosts */
};

struct pp_keeper {
	const char *spool;
	struct pp_death death; /* of the keeper before; no times: there was none */
	struct pp_settings settings;
	struct pp_spool_view view;
	struct pp_rings *rings; /* of the view */
	struct pp_warnings warnings;
	struct pp_wake wake;
	struct pp_pace pace;
	int64_t turned_ms, scanned_ms; /* last turn, last scan of the spool */
	uint64_t words;                /* of the rings, at the last turn */
	int is_calm;                   /* between turns nothing has to be done */
	int64_t finalised_ms;          /* a rank had finalised MPI; 0: none */
	struct pp_control *control;
	struct pp_sampler sampler;
	struct pp_session_options options;
	struct pp_windows_job job; /* of all these */
	struct pp_pod *pod;        /* other hosts; the same as job.pod */
	struct pp_windows windows;
	struct pp_requests requests;
	struct pp_lookback lookback;
	struct pp_timed timed;
	int served;  /* a request was active at the last turn */
	int by_rows; /* lookback.range is that of the options' window */
	int many;    /* several windows: each is closed when it is over */
	struct pp_clock_pair first;
	int clock_read;
	struct pp_wall_watch wall;
	int64_t begin_ms, runs_gone_ms; /* runs_gone_ms 0: one lives, or none was started */
	int64_t runs_over_ms;           /* 0: some go on */
	int64_t blind_ms;               /* 0: the spool can be read */
	int blind_code;                 /* why not: -errno */
	struct pp_missing missing;
	int news;    /* a process has ended */
	int goes_on; /* its windows are over, the ranks run on: captures are served */
};

static volatile sig_atomic_t stop;

static void on_term(int signal_number)
{
	(void)signal_number;
	stop = 1;
}

/* Drains every ring once; returns the records read. */
static uint64_t drain(struct pp_keeper *k)
{
	uint64_t records = 0;
	int most = 0;

	for (size_t i = 0; i < pp_rings_count(k->rings); i++) {
		int fill = 0;

		records += pp_rings_drain(k->rings, i, &fill);
		if (fill > most)
			most = fill;
	}
	if (most > FULL_PERCENT)
		pp_keeper_hurry();
	return records;
}

/* Has the run process ended, or become a rank that is ending and waits for us? */
static int run_is_over(struct pp_keeper *k, size_t run)
{
	const struct pp_run *r = &k->view.run[run];

	if (pp_watch_gone(&k->view.run[run].watch))
		return 1;
	for (size_t i = 0; i < pp_rings_count(k->rings); i++) {
		const struct pp_ring_header *h = pp_rings_header(k->rings, i);

		/* In another PID namespace only the ring of its rank is known. */
		if ((r->watch.is_foreign ? h->rank == r->file.rank : h->pid == r->file.pid) && pp_ranks_is_over(&k->view, i))
			return 1;
	}
	return 0;
}

/* Are all run processes seen over? Counts once all announced ones were seen, or none was new for a while (podprof on some ranks
 * only). */
static int runs_over(struct pp_keeper *k, int *ret_gone)
{
	int announced = 0, over = k->view.runs > 0, outer = 0;

	*ret_gone = k->view.runs > 0;
	for (size_t i = 0; i < k->view.runs; i++) {
		if (!k->view.run[i].watch.gone && !pp_watch_gone(&k->view.run[i].watch))
			*ret_gone = 0;
		if (!run_is_over(k, i)) { /* a launcher waits for its ranks, which are over and wait for us */
			over = over && k->view.run[i].file.rank < 0 && pp_rings_count(k->rings);
			outer = 1;
		}
		if (k->view.run[i].file.local_size > announced)
			announced = k->view.run[i].file.local_size;
	}
	k->runs_over_ms = !over ? 0 : k->runs_over_ms ? k->runs_over_ms : pp_now_ms();
	return over && ((!outer && (int)k->view.runs >= announced) || pp_now_ms() - k->runs_over_ms > SOME_MS);
}

/* Why the window closes now; NULL: it does not. */
static const char *reason_to_close(struct pp_keeper *k)
{
	size_t rings = pp_rings_count(k->rings);
	int64_t now = pp_now_ms();
	int expected = pp_ranks_expected(&k->view), over = 1, gone, runs;

	if (stop)
		return "asked to end";
	for (size_t i = 0; i < rings && over; i++)
		over = pp_ranks_is_over(&k->view, i);
	runs = runs_over(k, &gone);
	gone |= !k->view.runs && over && rings; /* ranks not started by podprof run, or whose run file cannot be read */
	k->runs_gone_ms = !gone ? 0 : k->runs_gone_ms ? k->runs_gone_ms : now;
	if (over && rings && expected > 0 && pp_ranks_seen(&k->view) + (int)k->view.refused >= expected)
		return "every rank is over";
	if (!rings && k->view.refused && k->view.refused >= (size_t)expected)
		return "no ring can be read";
	if (over && runs)
		return "every process of the job is over";
	if (over && rings && k->view.followed)
		return "the ranks were started again";
	if (gone && now - k->runs_gone_ms > ORPHAN_MS)
		return "the processes of the job are gone";
	if (!rings && k->blind_ms && now - k->blind_ms > BLIND_MS) {
		pp_records_refuse(&k->view, &k->warnings, "cannot read the spool '%s': %s", k->spool, strerror(-k->blind_code));
		return "the spool cannot be read";
	}
	if (!rings && !k->view.runs && now - k->begin_ms > EMPTY_MS)
		return "nobody came";
	return NULL;
}

/* Reads the wall clock once a second, and where ranks stand. */
static void check_ranks(struct pp_keeper *k)
{
	pp_still_check_all(&k->view, pp_now_ms(), STILL_MS);
	if (k->clock_read)
		pp_wall_watch_run(&k->wall, pp_close_tick_kind(k->rings), pp_now_ms());
}

/* Are there several windows? Once the program has requested windows via API, only these are recorded. */
static int is_many(struct pp_keeper *k)
{
	if (!k->many && pp_windows_via_api(k->rings)) {
		k->many = 1;
		k->requests.always = 0;
	}
	return k->many;
}

/* Drops what captures recorded outside the windows of the options. */
static void sweep(struct pp_keeper *k)
{
	int active = pp_requests_active(&k->requests);

	if (k->served && !active && !k->requests.always && !pp_timed_has_begun(&k->timed))
		pp_lookback_sweep(&k->windows, &k->requests, &k->job);
	k->served = active;
}

/* Serves windows of the options and capture requests: one child at a time. */
static void serve(struct pp_keeper *k)
{
	is_many(k);
	pp_lookback_run(&k->lookback, &k->requests, &k->job, 0);
	if (pp_pod_role(k->pod) == PP_POD_FOLLOWER) {
		pp_windows_is_writing(&k->windows); /* begun while rank 0's keeper was silent */
		pp_requests_run(&k->requests, &k->job, k->control, 0);
		return;
	}
	pp_timed_run(&k->timed, &k->windows, &k->job, &k->requests, k->control, 0);
	pp_requests_run(&k->requests, &k->job, k->control, k->windows.busy);
	sweep(k);
	k->windows.hold = pp_requests_active(&k->requests) || pp_timed_holds(&k->timed);
	if (k->many && k->requests.turn != PP_TURN_WRITING &&
	    !pp_pod_is_done(k->pod)) /* else the job's session has this host's part */
		pp_windows_run(&k->windows, &k->job, 0);
	pp_successor_mark(k->control, &k->windows, &k->timed);
}

static void find_rings(struct pp_keeper *k)
{
	pp_unrecorded_check(&k->view, k->control, pp_pod_role(k->pod) == PP_POD_ALONE);
}

/* Finds new rings, where the spool has changed. */
static void scan_spool(struct pp_keeper *k)
{
	int64_t now = pp_now_ms();
	int opened;

	if (!pp_wake_take(&k->wake, PP_WAKE_SPOOL) && !k->view.again && !k->blind_ms && now - k->scanned_ms < SCAN_MS)
		return;
	k->scanned_ms = now;
	opened = pp_records_scan(k->rings, &k->view, &k->warnings);
	k->blind_ms = opened >= 0 ? 0 : k->blind_ms ? k->blind_ms : now;
	k->blind_code = opened;
	if (opened > 0) {
		pp_settings_learn_command(k->view.path, &k->settings, pp_rings_header(k->rings, 0)->pid);
		pp_keeper_make_room(&k->view);
	}
}

/* Finds new rings and dead ranks. Returns why the window closes now, or NULL. */
static const char *scan(struct pp_keeper *k)
{
	const char *why;

	scan_spool(k);
	pp_rings_exclude(k->rings);
	for (size_t i = 0; i < pp_rings_count(k->rings); i++)
		pp_rings_let_go(k->rings, i);
	if (!k->clock_read && pp_rings_count(k->rings)) {
		pp_clock_read_pair(pp_close_tick_kind(k->rings), &k->first);
		k->clock_read = 1;
	}
	check_ranks(k);
	find_rings(k);
	pp_missing_check(&k->missing, &k->view, k->pod, k->control, pp_now_ms());
	why = reason_to_close(k);
	if (!pp_pod_may_close(k->pod, why != NULL, stop))
		return NULL;
	return why ? why : "the job's other hosts are done";
}

static void find_ends(struct pp_keeper *k)
{
	pp_watch_all(k->view.rank, pp_rings_count(k->rings));
	for (size_t i = 0; i < k->view.runs; i++)
		pp_watch_all(&k->view.run[i].watch, 1);
}

/* Waits; an event and a message of another host end the wait. */
static void rest(struct pp_keeper *k, int ms)
{
	if (pp_pod_wait(k->pod, k->wake.fd, ms))
		ms = 0;
	pp_wake_wait(&k->wake, ms);
	if (k->wake.seen & PP_WAKE_PROCESS) {
		k->wake.seen &= ~(unsigned)PP_WAKE_PROCESS;
		k->news = 1;
		find_ends(k);
	}
}

/* Is something under way that needs turns more often than the rings do? */
static int is_under_way(const struct pp_keeper *k)
{
	return pp_requests_busy(&k->requests) || k->windows.busy || pp_timed_is_open(&k->timed) || k->view.again;
}

/* Is a rank about to end? It then waits for its files. */
static int ends_soon(struct pp_keeper *k, int64_t now)
{
	int is_over = 0;

	for (size_t i = 0; i < pp_rings_count(k->rings); i++) {
		uint32_t mpi = pp_ring_mpi_state(pp_rings_header(k->rings, i));

		is_over |= mpi == PP_MPI_OVER || mpi == PP_MPI_OTHER_OVER;
	}
	k->finalised_ms = !is_over ? 0 : k->finalised_ms ? k->finalised_ms : now;
	return is_over && now - k->finalised_ms < SOON_MS;
}

/* ms until the rings are to be drained again. */
static int pause_of(struct pp_keeper *k, uint64_t records)
{
	int64_t now = pp_now_ms();
	int ms = pp_pace_next(&k->pace, records, pp_pace_room(k->rings), now, now - k->begin_ms);

	if ((is_under_way(k) || ends_soon(k, now)) && ms > TURN_MS)
		ms = TURN_MS;
	return ms < pp_pod_pace(k->pod) ? ms : pp_pod_pace(k->pod);
}

/* Is a turn due? Between turns of a calm job a look at the rings' words suffices. */
static int is_due(struct pp_keeper *k)
{
	int64_t now = pp_now_ms();
	int recording, due;
	uint64_t words = pp_ranks_words(&k->view, &recording);

	k->is_calm = !recording && k->wake.spool_fd >= 0 && k->pace.ms == PP_PACE_MOST_MS && !is_under_way(k) &&
	             pp_pod_role(k->pod) == PP_POD_ALONE;
	due = stop || k->news || k->wake.seen || words != k->words || !k->turned_ms ||
	      now - k->turned_ms >= (k->is_calm ? CALM_TURN_MS : TURN_MS);
	if (!due)
		return 0;
	k->turned_ms = now;
	k->words = words;
	k->news = 0;
	return 1;
}

static void drain_until_over(struct pp_keeper *k)
{
	const char *why = NULL;

	pp_successor_begin(&k->death, k->control, &k->windows, &k->timed, &k->requests, &k->warnings);
	while (!why) {
		int due = is_due(k), news = 0;
		uint64_t records = 0;

		if (due || !k->is_calm) {
			records = drain(k);
			pp_sampler_run(&k->sampler, k->rings);
			news = pp_pod_run(k->pod);
		} else {
			check_ranks(k);
		}
		if (due)
			why = scan(k);
		if ((due || news) && !why)
			serve(k);
		if (!why)
			rest(k, pause_of(k, records));
	}
	pp_keeper_log("closing: %s", why);
}

static void take_signals(void)
{
	struct sigaction term = {.sa_handler = on_term}, ignore = {.sa_handler = SIG_IGN};

	sigaction(SIGTERM, &term, NULL);
	sigaction(SIGINT, &ignore, NULL);
	sigaction(SIGHUP, &ignore, NULL);
	sigaction(SIGPIPE, &ignore, NULL);
}

static void set_options(struct pp_keeper *k)
{
	k->options = (struct pp_session_options){.logdir = k->settings.output,
	                                         .session = k->settings.session,
	                                         .job = k->settings.job,
	                                         .command = k->settings.command,
	                                         .options = k->settings.text,
	                                         .steps_first = k->settings.steps_first,
	                                         .steps_last = k->settings.steps_last,
	                                         .xspace_per_rank = k->settings.xspace_per_rank,
	                                         .site_log = k->settings.site_log,
	                                         .metrics = k->settings.metrics,
	                                         .event_ranks = k->settings.ranks.text,
	                                         .may_move = 1};
	k->many = pp_step_windows_many(&k->settings.windows) || k->settings.timed;
	pp_windows_init(&k->windows, &k->settings.windows);
	if (k->settings.timed)
		pp_timed_init(&k->timed, &k->settings.delay, &k->settings.duration, k->settings.at);
	k->job = (struct pp_windows_job){.view = &k->view,
	                                 .rings = k->rings,
	                                 .warnings = &k->warnings,
	                                 .first = &k->first,
	                                 .options = &k->options,
	                                 .sampler = &k->sampler,
	                                 .wall = &k->wall};
}

/* Without memory for the pod this host runs alone. */
static void open_pod(struct pp_keeper *k)
{
	struct pp_pod_options o = {.spool = k->spool,
	                           .settings = &k->settings,
	                           .job = &k->job,
	                           .control = k->control,
	                           .spool_changes = &k->wake.changes};

	if (!pp_pod_new(&o, &k->pod))
		k->job.pod = k->pod;
}

static int anybody_trains(struct pp_keeper *k)
{
	for (size_t i = 0; i < pp_rings_count(k->rings); i++)
		if (!pp_ranks_has_ended(&k->view, i))
			return 1;
	return 0;
}

static int others_train(struct pp_keeper *k)
{
	size_t ranks;
	const struct pp_pod_rank *rank = pp_pod_ranks(k->pod, &ranks);

	for (size_t i = 0; i < ranks; i++)
		if (!rank[i].gone)
			return 1;
	return 0;
}

/* Does the keeper stay for captures after its windows? With several hosts all do or none: a follower whose share the leader has
 * stays as long as its ranks. */
static int goes_on(struct pp_keeper *k)
{
	int is_cut = k->many || k->options.steps_last > k->options.steps_first;

	if (stop)
		return 0;
	if (pp_pod_role(k->pod) == PP_POD_LEADER)
		return is_cut && (anybody_trains(k) || others_train(k));
	return anybody_trains(k) && (pp_pod_role(k->pod) == PP_POD_ALONE || pp_pod_is_done(k->pod));
}

/* One turn while a child writes. */
static void tend(struct pp_keeper *k)
{
	drain(k);
	check_ranks(k);
	pp_pod_run(k->pod);
	if (k->goes_on)
		pp_requests_run(&k->requests, &k->job, k->control, 1);
	rest(k, BUSY_MS);
}

static void begin_to_close(struct pp_keeper *k)
{
	pp_control_set(k->control, PP_KEEPER_WRITING, NULL);
	pp_records_scan(k->rings, &k->view, &k->warnings);
	find_ends(k);
	pp_control_set_speaker(k->control, pp_missing_speaker(&k->view));
	/* Killed ranks still have records in their rings; ranks that record on are not waited for. */
	for (int i = 0; i < LAST_ROUNDS && drain(k); i++)
		;
	k->options.rendezvous = pp_pod_why(k->pod);
	pp_keeper_log("%zu rings, %llu records, %llu bytes held", pp_rings_count(k->rings),
	              (unsigned long long)pp_rings_records(k->rings), (unsigned long long)pp_rings_bytes(k->rings));
	if (!k->clock_read)
		pp_clock_read_pair(pp_close_tick_kind(k->rings), &k->first);
	pp_writing_edge(&k->job);
	k->goes_on = goes_on(k);
	while (k->goes_on && pp_pod_role(k->pod) == PP_POD_LEADER && k->requests.turn == PP_TURN_WRITING)
		tend(k); /* hosts send one share at a time */
	if (k->goes_on)
		return;
	pp_lookback_run(&k->lookback, &k->requests, &k->job, 1);
	pp_requests_close(&k->requests, &k->job, k->spool);
	pp_lookback_end(&k->lookback, &k->requests, &k->job);
}

/* A child gathers and writes; meanwhile this process answers the other hosts. */
static int close_for_all(struct pp_keeper *k, char *message, size_t size, struct pp_forked_writer *writer, struct pp_err *err)
{
	struct pp_pod_window all = {.cut = PP_POD_ALL, .first = k->options.steps_first, .last = k->options.steps_last};
	struct pp_writing w = {
	        .first = all.first, .last = all.last, .range = k->lookback.range, .hosts = &all, .limit_ms = GATHER_MS};
	int rc;

	if (k->by_rows)
		all.cut = PP_POD_WINDOW;
	for (size_t i = 0; k->lookback.range && !k->by_rows && i < pp_rings_count(k->rings); i++) {
		const struct pp_close_range *r = &k->lookback.range[i];

		all.from = all.cut == PP_POD_ALL || r->from < all.from ? r->from : all.from;
		all.to = all.cut == PP_POD_ALL || r->to > all.to ? r->to : all.to;
		all.cut = PP_POD_TICKS;
	}
	rc = pp_writing_start(writer, &k->job, &w);
	if (rc)
		return pp_err_set(err, rc, "cannot start a process to write it: %s", strerror(-rc));
	while (!pp_forked_writer_done(writer))
		tend(k);
	snprintf(message, size, "%s", writer->answer.text);
	*err = writer->answer.err;
	return writer->answer.code;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): it is written through close_it */
static int close_here(struct pp_keeper *k, char *message, size_t size, struct pp_session_page *page, struct pp_err *err)
{
	struct pp_close close_it = {.options = &k->options,
	                            .message = message,
	                            .message_size = size,
	                            .range = k->lookback.range,
	                            .ranges = k->lookback.range ? pp_rings_count(k->rings) : 0};

	k->options.ret_page = page;
	if (pp_pod_session(k->pod))
		k->options.session = pp_pod_session(k->pod);
	return pp_job_close(&k->job, &close_it, err);
}

/* Adds why the session is not the whole job's, for rank 0. */
static void add_why(struct pp_keeper *k, char *message, size_t size)
{
	size_t n = strlen(message);

	if (pp_pod_role(k->pod) == PP_POD_ALONE && !pp_pod_is_done(k->pod) && n && *pp_pod_why(k->pod) && n + 1 < size)
		snprintf(message + n, size - n, "\n%s", pp_pod_why(k->pod));
}

/* Adds missing ranks, unless rank 0 has printed them during the job. 1: a sentence was added. */
static int add_missing(struct pp_keeper *k, char *message, size_t size)
{
	size_t n = strlen(message);
	char text[256];

	pp_missing_text(&k->view, text, sizeof(text));
	if (!*text || !n || n + 1 >= size || (k->missing.reported && !pp_control_speaker(k->control)))
		return 0;
	snprintf(message + n, size - n, "\n%s", text);
	return 1;
}

/* Where captures made ranks record, or may do so on other hosts before these are asked for their shares, the rows bound the
 * options' window. */
static void cut_window(struct pp_keeper *k)
{
	int is_cut = k->requests.number || (k->goes_on && pp_pod_role(k->pod) == PP_POD_LEADER);

	if (k->lookback.range || !is_cut || k->options.steps_last <= k->options.steps_first)
		return;
	k->windows.hold = k->served || pp_requests_active(&k->requests);
	k->lookback.range = pp_windows_ranges(&k->windows, &k->job, 0);
	k->by_rows = k->lookback.range != NULL;
}

static int close_window(struct pp_keeper *k)
{
	char message[sizeof(k->control->message)] = "";
	struct pp_session_page page = {.pid = 0};
	struct pp_forked_writer writer = {.fd = -1};
	struct pp_err err = {""};
	int rc = 0;

	begin_to_close(k);
	cut_window(k);
	if (pp_lookback_only_triggers(&k->lookback) || pp_pod_is_done(k->pod))
		rc = 0;
	else if (pp_pod_role(k->pod) == PP_POD_LEADER || k->goes_on)
		rc = close_for_all(k, message, sizeof(message), &writer, &err);
	else
		rc = close_here(k, message, sizeof(message), &page, &err);
	if (k->lookback.range || pp_lookback_only_triggers(&k->lookback))
		pp_pod_send_over(k->pod);
	pp_lookback_message(&k->lookback, &k->requests, k->options.logdir, message, sizeof(message));
	if (rc) {
		pp_keeper_log("failed: %s", err.text);
		snprintf(message, sizeof(message), "no session was written: %s", err.text);
	} else {
		if (!add_missing(k, message, sizeof(message))) /* missing ranks explain why there is no other keeper */
			add_why(k, message, sizeof(message));
		pp_successor_say(&k->death, &k->windows, &k->job, message, sizeof(message));
		pp_keeper_log("done: %s", message);
	}
	pp_control_set(k->control, rc ? PP_KEEPER_FAILED : PP_KEEPER_DONE, message);
	if (!rc && pp_session_page_end(&page, &err)) /* `podprof report` tries again and says why */
		pp_keeper_log("no report.html: %s", err.text);
	while (!pp_forked_writer_reaped(&writer)) /* it writes the report */
		tend(k);
	return rc;
}

/* Closes what is left of several windows; earlier ones are written already. */
static int close_windows(struct pp_keeper *k)
{
	char message[sizeof(k->control->message)] = "";
	int rc;

	begin_to_close(k);
	pp_timed_run(&k->timed, &k->windows, &k->job, &k->requests, k->control, 1);
	while (!pp_pod_is_done(k->pod) && pp_windows_run(&k->windows, &k->job, 1)) {
		check_ranks(k);
		pp_pod_run(k->pod);
		rest(k, BUSY_MS);
	}
	pp_pod_send_over(k->pod);
	rc = pp_windows_message(&k->windows, &k->job, message, sizeof(message));
	pp_lookback_message(&k->lookback, &k->requests, k->options.logdir, message, sizeof(message));
	if (!rc)
		add_missing(k, message, sizeof(message));
	pp_successor_say(&k->death, &k->windows, &k->job, message, sizeof(message));
	pp_keeper_log("%s: %s", rc ? "failed" : "done", message);
	pp_control_set(k->control, rc ? PP_KEEPER_FAILED : PP_KEEPER_DONE, message);
	return rc;
}

/* Appends results of signals that arrived after the message; `before` is that message. */
static void append_results(struct pp_keeper *k, const char *before)
{
	char message[sizeof(k->control->message)], more[1024];
	size_t n = (size_t)snprintf(message, sizeof(message), "%s", before);

	pp_own_message(&k->requests, k->options.logdir, more, sizeof(more));
	if (more[0])
		snprintf(message + n, sizeof(message) - n, "%s", more + !n);
	if (more[0])
		pp_control_set(k->control, (enum pp_keeper_state)pp_control_keeper_state(k->control), message);
}

/* A follower stays for the last capture, which ends with the ranks, until the leader leaves. */
static int stays(struct pp_keeper *k, int64_t *ended_ms)
{
	if (stop)
		return 0;
	if (anybody_trains(k) || others_train(k) || pp_pod_is_sharing(k->pod)) {
		*ended_ms = pp_now_ms();
		return 1;
	}
	return pp_pod_role(k->pod) == PP_POD_FOLLOWER && pp_now_ms() - *ended_ms <= (k->settings.wait_s + LINGER_S) * 1000;
}

/* Only captures are recorded now; their records are dropped at their end, on a follower with its share. */
static void serve_on(struct pp_keeper *k)
{
	char before[sizeof(k->control->message)];
	int64_t ended_ms = pp_now_ms();
	int asked = pp_pod_role(k->pod) != PP_POD_FOLLOWER;

	snprintf(before, sizeof(before), "%s", k->control->message);
	memset(k->requests.own, 0, sizeof(k->requests.own)); /* the message holds their results */
	while (stays(k, &ended_ms)) {
		uint64_t records;

		if (!is_due(k) && k->is_calm) {
			check_ranks(k);
			rest(k, pause_of(k, 0));
			continue;
		}
		k->wake.seen &= PP_WAKE_CLIENT;
		records = drain(k);
		pp_sampler_run(&k->sampler, k->rings);
		check_ranks(k);
		pp_pod_run(k->pod);
		pp_requests_run(&k->requests, &k->job, k->control, 0);
		if (asked && !pp_requests_active(&k->requests))
			pp_job_drop_all(&k->job);
		if (asked && !pp_requests_active(&k->requests))
			append_results(k, before);
		asked = pp_requests_active(&k->requests);
		rest(k, asked ? BUSY_MS : pause_of(k, records));
	}
	pp_requests_close(&k->requests, &k->job, k->spool);
	append_results(k, before);
}

/* Waits for ranks that end: they read the message from the spool; ranks that train on read it when they end. 1: nobody needs the
 * spool any more. */
static int wait_for_ranks(struct pp_keeper *k)
{
	int64_t ending_ms;

	if (k->goes_on)
		serve_on(k);
	ending_ms = pp_now_ms();
	for (;;) {
		int alive = 0, training = 0;

		for (size_t i = 0; i < pp_rings_count(k->rings); i++) {
			const struct pp_ring_header *h = pp_rings_header(k->rings, i);

			if (pp_watch_gone(&k->view.rank[i]))
				continue;
			alive = 1;
			training |= pp_ring_state(h) != PP_RANK_ENDING;
		}
		if (!alive)
			return 1;
		if (training)
			ending_ms = pp_now_ms();
		if (stop || pp_now_ms() - ending_ms > (k->settings.wait_s + LINGER_S) * 1000)
			return 0;
		pp_pod_run(k->pod);
		rest(k, training ? 100 : TURN_MS);
	}
}

static void open_requests(struct pp_keeper *k, struct pp_err *err)
{
	if (pp_requests_open(&k->requests, k->spool, err))
		pp_keeper_log("%s", err->text);
	if (pp_wake_add(&k->wake, k->requests.listen_fd, PP_WAKE_CLIENT))
		k->requests.wake = &k->wake;
	k->requests.always = pp_settings_always(&k->settings);
}

/* 0, or -errno: no session. */
int pp_keeper_main(const char *spool, const struct pp_death *death, struct pp_err *err)
{
	struct pp_keeper k = {.spool = spool, .death = *death, .view = {.path = spool, .wake = &k.wake}, .begin_ms = pp_now_ms()};
	int lock = pp_keeper_lock(spool, err), rc;

	if (lock < 0)
		return lock == -EBUSY ? 0 : lock;
	pp_keeper_log_start();
	pp_wake_open(&k.wake, spool);
	take_signals();
	umask(022); /* the session is for the user's group as the log directory is; the spool's own files say 0600 */
	prctl(PR_SET_NAME, "podprof-keeper", 0, 0, 0);
	prctl(PR_SET_TIMERSLACK, 50000, 0, 0, 0);
	pp_keeper_lower_priority();
	rc = pp_settings_read(spool, &k.settings, err);
	if (rc) {
		pp_err_wrap(err, rc, "no session will be written");
		goto unlock;
	}
	if (pp_settings_rules(spool, err))
		pp_keeper_log("%s", err->text);
	pp_settings_fit_memory(&k.settings);
	k.rings = pp_rings_new(pp_settings_span_bytes(&k.settings));
	if (!k.rings) {
		rc = pp_err_set(err, -ENOMEM, "cannot read the rings of '%s': no memory", spool);
		goto unlock;
	}
	set_options(&k);
	pp_sampler_init(&k.sampler, "/proc", (enum pp_gpu_when)k.settings.gpu_state);
	rc = pp_successor_page(spool, death, &k.control, err);
	if (rc)
		goto release_view;
	pp_keeper_log("keeper %s, pid %d, spool '%s'", PODPROF_VERSION, (int)getpid(), spool);
	pp_wall_watch_init(&k.wall); /* looks at all processes: the job starts once the control page is there */
	open_requests(&k, err);
	pp_lookback_init(&k.lookback, &k.settings);
	open_pod(&k);
	drain_until_over(&k);
	pp_records_scan(k.rings, &k.view, &k.warnings);
	find_rings(&k);
	rc = is_many(&k) ? close_windows(&k) : close_window(&k);
	if (wait_for_ranks(&k) && !rc) {
		pp_spool_remove_logdir(spool, k.settings.output);
		pp_spool_remove(spool);
	}
	/* The control page and the log hold the failure; there is no caller to return it to. */
	rc = 0;
	pp_requests_end(&k.requests);
	pp_lookback_release(&k.lookback);
	pp_control_close(k.control);
release_view:
	pp_pod_free(k.pod);
	pp_sampler_release(&k.sampler);
	pp_wall_watch_release(&k.wall);
	pp_records_release(k.rings, &k.view);
unlock:
	pp_wake_close(&k.wake);
	close(lock);
	return rc;
}
