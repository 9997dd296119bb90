/* The keeper's life: settle, drain while ranks record, close the window, wait for the ranks, tidy up. See keeper.h. */
#include "aggregate/keeper/keeper.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "aggregate/keeper/back.h"
#include "aggregate/keeper/close.h"
#include "aggregate/keeper/control.h"
#include "aggregate/keeper/missing.h"
#include "aggregate/keeper/pod.h"
#include "aggregate/keeper/ranks.h"
#include "aggregate/keeper/request.h"
#include "aggregate/keeper/spawn.h"
#include "aggregate/keeper/spool.h"
#include "aggregate/keeper/timed.h"
#include "aggregate/keeper/windows.h"

enum {
	SCAN_MS = 20, /* new rings and deaths */
	BUSY_MS = 1,
	CALM_MS = 4, /* few records: half the hot set of a busy thread at most */
	IDLE_MS = 20,
	CALM_RECORDS = 500, /* of all ranks in one round */
	EMPTY_MS = 60000,   /* without any ring or run process */
	ORPHAN_MS = 10000,  /* after the last run process has gone */
	BLIND_MS = 3000,    /* with a spool that cannot be read: removed, or no descriptor left */
	SOME_MS = 2000,     /* after the run processes that came are over, though fewer than announced */
	LINGER_S = 5,       /* beyond --wait, for ranks that are ending */
	FULL_PERCENT = 50,
	LAST_ROUNDS = 8,
	GATHER_MS = 600000, /* that the session of several hosts may take */
};

struct keeper {
	const char *spool;
	struct pp_settings settings;
	struct pp_spool_view view;
	struct pp_control *control;
	struct pp_sampler sampler;
	struct pp_session_options options;
	struct pp_windows_job job; /* of all these */
	struct pp_pod *pod;        /* other hosts; the same as job.pod */
	struct pp_windows windows;
	struct pp_requests requests;
	struct pp_back back;
	struct pp_timed timed;
	int many; /* windows: each is closed when its time has come */
	struct pp_clock_pair first;
	int clock_read;
	int64_t begin_ms, runs_gone_ms; /* runs_gone_ms 0: some live, or none came */
	int64_t runs_over_ms;           /* 0: some go on */
	int64_t blind_ms;               /* 0: the spool can be read */
	int blind_code;                 /* why not: -errno */
	struct pp_missing missing;
};

static volatile sig_atomic_t stop;

static void on_term(int signal_number)
{
	(void)signal_number;
	stop = 1;
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void pause_ms(int ms)
{
	struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = (ms % 1000) * 1000000L};

	nanosleep(&t, NULL);
}

/* Every ring once; returns the records read. */
static uint64_t drain_all(struct keeper *k)
{
	uint64_t records = 0;
	int most = 0;

	for (size_t i = 0; i < pp_rings_count(k->view.rings); i++) {
		int fill = 0;

		records += pp_rings_drain(k->view.rings, i, &fill);
		if (fill > most)
			most = fill;
	}
	if (most > FULL_PERCENT)
		pp_keeper_hurry();
	return records;
}

/* It is gone, or it became a rank that is ending and waits for us. */
static int run_is_over(struct keeper *k, size_t run)
{
	if (pp_watch_gone(&k->view.run[run].watch))
		return 1;
	for (size_t i = 0; i < pp_rings_count(k->view.rings); i++)
		if (pp_rings_header(k->view.rings, i)->pid == k->view.run[run].watch.pid && pp_ranks_is_over(&k->view, i))
			return 1;
	return 0;
}

/* All run processes that came are over; with all that launchers announced, or nobody new for a while (podprof on
 * some ranks only). */
static int runs_over(struct keeper *k, int *ret_gone)
{
	int announced = 0, over = k->view.runs > 0;

	*ret_gone = k->view.runs > 0;
	for (size_t i = 0; i < k->view.runs; i++) {
		if (!k->view.run[i].watch.gone && !pp_watch_gone(&k->view.run[i].watch))
			*ret_gone = 0;
		over = over && run_is_over(k, i);
		if (k->view.run[i].local_size > announced)
			announced = k->view.run[i].local_size;
	}
	k->runs_over_ms = !over ? 0 : k->runs_over_ms ? k->runs_over_ms : now_ms();
	return over && ((int)k->view.runs >= announced || now_ms() - k->runs_over_ms > SOME_MS);
}

/* Why the window closes now; NULL: it does not. */
static const char *reason_to_close(struct keeper *k)
{
	size_t rings = pp_rings_count(k->view.rings);
	int64_t now = now_ms();
	int expected = pp_ranks_expected(&k->view), over = 1, gone, runs;

	if (stop)
		return "asked to end";
	for (size_t i = 0; i < rings && over; i++)
		over = pp_ranks_is_over(&k->view, i);
	runs = runs_over(k, &gone);
	gone |= !k->view.runs && over && rings; /* ranks that nobody started by podprof run, or whose word of it cannot be read */
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
		pp_notes_add(&k->view.notes, "cannot read the spool '%s': %s", k->spool, strerror(-k->blind_code));
		k->view.refused++;
		return "the spool cannot be read";
	}
	if (!rings && !k->view.runs && now - k->begin_ms > EMPTY_MS)
		return "nobody came";
	return NULL;
}

static int run_windows(struct keeper *k, int ending)
{
	return pp_windows_run(&k->windows, &k->job, ending);
}

/* Windows of the program are all that is recorded from the first one on. */
static int is_many(struct keeper *k)
{
	if (!k->many && pp_windows_by_code(k->view.rings)) {
		k->many = 1;
		k->requests.always = 0;
	}
	return k->many;
}

/* Windows of the options and on request: one child at a time. */
static void serve(struct keeper *k)
{
	is_many(k);
	if (pp_pod_role(k->pod) == PP_POD_FOLLOWER) {
		pp_requests_run(&k->requests, &k->job, k->control, 0);
		return;
	}
	pp_timed_run(&k->timed, &k->windows, &k->job, &k->requests, k->control, 0);
	pp_back_run(&k->back, &k->requests, &k->job, 0);
	pp_requests_run(&k->requests, &k->job, k->control, k->windows.busy);
	k->windows.hold = pp_requests_active(&k->requests) || pp_timed_holds(&k->timed);
	if (k->many && k->requests.turn != PP_TURN_WRITING)
		run_windows(k, 0);
}

/* New rings, deaths; why the window closes now, or NULL. */
static const char *scan(struct keeper *k)
{
	int opened = pp_spool_scan(&k->view);
	const char *why;

	k->blind_ms = opened >= 0 ? 0 : k->blind_ms ? k->blind_ms : now_ms();
	k->blind_code = opened;
	if (opened > 0)
		pp_keeper_make_room(&k->view);
	if (!k->clock_read && pp_rings_count(k->view.rings)) {
		pp_clock_read_pair(pp_close_tick_kind(k->view.rings), &k->first);
		k->clock_read = 1;
	}
	pp_missing_look(&k->missing, &k->view, k->pod, k->control, now_ms());
	why = reason_to_close(k);
	if (!pp_pod_may_close(k->pod, why != NULL, stop))
		return NULL;
	return why ? why : "the job's other hosts are done";
}

/* With other hosts a message of theirs ends the wait. */
static void rest(struct keeper *k, int ms)
{
	if (!pp_pod_wait(k->pod, ms))
		pause_ms(ms);
}

static void drain_until_over(struct keeper *k)
{
	int64_t scanned = 0;
	int wait = BUSY_MS, news;
	const char *why = NULL;

	while (!why) {
		uint64_t records = drain_all(k);

		pp_sampler_run(&k->sampler, k->view.rings);
		news = pp_pod_run(k->pod);
		if (now_ms() - scanned >= SCAN_MS || !scanned) {
			scanned = now_ms();
			why = scan(k);
			news = 1;
		}
		if (news && !why)
			serve(k);
		if (records >= CALM_RECORDS)
			wait = BUSY_MS;
		else if (wait < (records ? CALM_MS : IDLE_MS))
			wait = wait * 2 < IDLE_MS ? wait * 2 : IDLE_MS;
		else
			wait = records ? CALM_MS : IDLE_MS;
		if (!why)
			rest(k, wait < pp_pod_pace(k->pod) ? wait : pp_pod_pace(k->pod));
	}
	pp_keeper_log("closing: %s", why);
}

static void begin_to_close(struct keeper *k)
{
	pp_control_set(k->control, PP_KEEPER_WRITING, NULL);
	pp_spool_scan(&k->view);
	/* Ranks that are killed by now still have records in their rings; those that go on recording are not waited for. */
	for (int i = 0; i < LAST_ROUNDS && drain_all(k); i++)
		;
	pp_keeper_log("%zu rings, %llu records, %llu bytes held", pp_rings_count(k->view.rings),
	              (unsigned long long)pp_rings_records(k->view.rings), (unsigned long long)pp_rings_bytes(k->view.rings));
	if (!k->clock_read)
		pp_clock_read_pair(pp_close_tick_kind(k->view.rings), &k->first);
	pp_back_run(&k->back, &k->requests, &k->job, 1);
	pp_requests_close(&k->requests, &k->job, k->spool);
	pp_back_end(&k->back, &k->requests, &k->job);
}

/* A child gathers and writes: this process is heard by the other hosts meanwhile. */
static int close_for_all(struct keeper *k, char *message, size_t size, struct pp_aside *aside, struct pp_err *err)
{
	struct pp_pod_window all = {.cut = PP_POD_ALL, .first = k->options.steps_first, .last = k->options.steps_last};
	struct pp_writing w = {.first = all.first, .last = all.last, .hosts = &all, .limit_ms = GATHER_MS};
	int rc = pp_writing_start(aside, &k->job, &w);

	if (rc)
		return pp_err_set(err, rc, "no process to write it: %s", strerror(-rc));
	while (!pp_aside_done(aside)) {
		drain_all(k);
		pp_pod_run(k->pod);
		rest(k, BUSY_MS);
	}
	snprintf(message, size, "%s", aside->answer.text);
	*err = aside->answer.err;
	return aside->answer.code;
}

static int close_here(struct keeper *k, char *message, size_t size, char *later, struct pp_err *err)
{
	struct pp_close close_it = {.view = &k->view,
	                            .first = &k->first,
	                            .options = &k->options,
	                            .sampler = &k->sampler,
	                            .message = message,
	                            .message_size = size,
	                            .range = k->back.range,
	                            .ranges = k->back.range ? pp_rings_count(k->view.rings) : 0};

	k->options.ret_later = later;
	if (pp_pod_session(k->pod))
		k->options.session = pp_pod_session(k->pod);
	return pp_close_session(&close_it, err);
}

/* Rank 0 says what keeps its session from being the job's. */
static void add_why(struct keeper *k, char *message, size_t size)
{
	size_t n = strlen(message);

	if (pp_pod_role(k->pod) == PP_POD_ALONE && n && *pp_pod_why(k->pod) && n + 1 < size)
		snprintf(message + n, size - n, "\n%s", pp_pod_why(k->pod));
}

static int close_window(struct keeper *k)
{
	char message[sizeof(k->control->message)] = "", later[PP_SESSION_PATH] = "";
	struct pp_aside aside = {.fd = -1};
	struct pp_err err = {""};
	int rc = 0;

	begin_to_close(k);
	if (pp_back_only_triggers(&k->back))
		rc = 0;
	else if (pp_pod_role(k->pod) == PP_POD_LEADER)
		rc = close_for_all(k, message, sizeof(message), &aside, &err);
	else if (!pp_pod_is_done(k->pod))
		rc = close_here(k, message, sizeof(message), later, &err);
	pp_back_message(&k->back, &k->requests, k->options.logdir, message, sizeof(message));
	if (rc) {
		pp_keeper_log("failed: %s", err.text);
		snprintf(message, sizeof(message), "no session was written: %s", err.text);
	} else {
		add_why(k, message, sizeof(message));
		pp_keeper_log("done: %s", message);
	}
	pp_control_set(k->control, rc ? PP_KEEPER_FAILED : PP_KEEPER_DONE, message);
	if (!rc && later[0] && pp_session_page(later, &err)) /* `podprof report` tries again and says why */
		pp_keeper_log("no report.html: %s", err.text);
	while (!pp_aside_over(&aside)) /* it makes the page */
		rest(k, BUSY_MS);
	return rc;
}

/* What is left of several windows; those before are written already. */
static int close_windows(struct keeper *k)
{
	char message[sizeof(k->control->message)] = "";
	int rc;

	begin_to_close(k);
	pp_timed_run(&k->timed, &k->windows, &k->job, &k->requests, k->control, 1);
	while (run_windows(k, 1))
		pause_ms(BUSY_MS);
	rc = pp_windows_message(&k->windows, &k->job, message, sizeof(message));
	pp_back_message(&k->back, &k->requests, k->options.logdir, message, sizeof(message));
	pp_keeper_log("%s: %s", rc ? "failed" : "done", message);
	pp_control_set(k->control, rc ? PP_KEEPER_FAILED : PP_KEEPER_DONE, message);
	return rc;
}
/* Ranks that are ending read the message from the spool; ranks that train on read it when they end. */
static int wait_for_ranks(struct keeper *k)
{
	int64_t ending_ms = now_ms();

	for (;;) {
		int alive = 0, training = 0;

		for (size_t i = 0; i < pp_rings_count(k->view.rings); i++) {
			const struct pp_ring_header *h = pp_rings_header(k->view.rings, i);

			if (pp_watch_gone(&k->view.rank[i]))
				continue;
			alive = 1;
			training |= atomic_load_explicit(&h->state, memory_order_acquire) != PP_RANK_ENDING;
		}
		if (!alive)
			return 1;
		if (training)
			ending_ms = now_ms();
		if (stop || now_ms() - ending_ms > (k->settings.wait_s + LINGER_S) * 1000)
			return 0;
		pause_ms(training ? 100 : IDLE_MS);
	}
}

static void take_signals(void)
{
	struct sigaction term = {.sa_handler = on_term}, ignore = {.sa_handler = SIG_IGN};

	sigaction(SIGTERM, &term, NULL);
	sigaction(SIGINT, &ignore, NULL);
	sigaction(SIGHUP, &ignore, NULL);
	sigaction(SIGPIPE, &ignore, NULL);
}

static void set_options(struct keeper *k)
{
	k->options = (struct pp_session_options){.logdir = k->settings.output,
	                                         .session = k->settings.session,
	                                         .job = k->settings.job,
	                                         .command = k->settings.command,
	                                         .options = k->settings.text,
	                                         .steps_first = k->settings.steps_first,
	                                         .steps_last = k->settings.steps_last,
	                                         .xspace_per_rank = k->settings.xspace_per_rank,
	                                         .event_ranks = k->settings.ranks};
	k->many = pp_step_windows_many(&k->settings.windows) || k->settings.timed;
	pp_windows_init(&k->windows, &k->settings.windows);
	if (k->settings.timed)
		pp_timed_init(&k->timed, k->settings.delay, k->settings.duration, k->settings.at);
	k->job = (struct pp_windows_job){.view = &k->view, .first = &k->first, .options = &k->options, .sampler = &k->sampler};
}

/* Without memory for it this host goes on by itself. */
static void open_pod(struct keeper *k)
{
	struct pp_pod_options o = {.spool = k->spool, .settings = &k->settings, .job = &k->job, .control = k->control};

	if (!pp_pod_new(&o, &k->pod))
		k->job.pod = k->pod;
}

int pp_keeper_main(const char *spool, struct pp_err *err)
{
	struct keeper k = {.spool = spool, .view = {.path = spool}, .begin_ms = now_ms()};
	int lock = pp_keeper_lock(spool, err), rc;

	if (lock < 0)
		return lock == -EBUSY ? 0 : lock;
	pp_keeper_log_start();
	take_signals();
	umask(022); /* the session is for the user's group as the log directory is; the spool's own files say 0600 */
	prctl(PR_SET_NAME, "podprof-keeper", 0, 0, 0);
	prctl(PR_SET_TIMERSLACK, 50000, 0, 0, 0);
	pp_keeper_settle();
	rc = pp_settings_read(spool, &k.settings, err);
	if (rc) {
		pp_err_wrap(err, rc, "no session will be written");
		goto unlock;
	}
	set_options(&k);
	pp_sampler_init(&k.sampler, "/proc");
	k.view.rings = pp_rings_new(pp_settings_span_bytes(&k.settings));
	if (!k.view.rings) {
		rc = pp_err_set(err, -ENOMEM, "cannot keep '%s': no memory", spool);
		goto unlock;
	}
	rc = pp_control_make(spool, &k.control, err);
	if (rc)
		goto release_view;
	pp_keeper_log("keeper %s, pid %d, spool '%s'", PODPROF_VERSION, (int)getpid(), spool);
	if (pp_requests_open(&k.requests, spool, err))
		pp_keeper_log("%s", err->text);
	k.requests.always = pp_settings_always(&k.settings);
	pp_back_init(&k.back, &k.settings);
	open_pod(&k);
	drain_until_over(&k);
	pp_spool_scan(&k.view);
	rc = is_many(&k) ? close_windows(&k) : close_window(&k);
	if (wait_for_ranks(&k) && !rc)
		pp_spool_remove(spool);
	/* A failure stands in the control page and the log; there is no one to return it to. */
	rc = 0;
	pp_requests_end(&k.requests);
	pp_back_release(&k.back);
	pp_control_close(k.control);
release_view:
	pp_pod_free(k.pod);
	pp_sampler_release(&k.sampler);
	pp_spool_view_release(&k.view);
unlock:
	close(lock);
	return rc;
}
