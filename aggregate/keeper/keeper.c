/* The keeper's life: settle, drain while ranks record, close the window, wait for the ranks, tidy up. See keeper.h. */
#include "aggregate/keeper/keeper.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "aggregate/keeper/control.h"
#include "aggregate/keeper/keeper_private.h"
#include "aggregate/keeper/ranks.h"
#include "aggregate/keeper/spawn.h"
#include "aggregate/keeper/unrecorded.h"
#include "aggregate/session/close.h"
#include "core/base/memory_room.h"
#include "core/base/now.h"

enum {
	SCAN_MS = 20,       /* new rings and deaths */
	CALM_MS = 4,        /* few records: half the hot set of a busy thread at most */
	CALM_RECORDS = 500, /* of all ranks in one round */
	EMPTY_MS = 60000,   /* without any ring or run process */
	ORPHAN_MS = 10000,  /* after the last run process has gone */
	BLIND_MS = 3000,    /* with a spool that cannot be read: removed, or no descriptor left */
	SOME_MS = 2000,     /* after the run processes that came are over, though fewer than announced */
	FULL_PERCENT = 50,
	LEAST_BUFFER = 4 << 20,
};

static volatile sig_atomic_t stop;

static void on_term(int signal_number)
{
	(void)signal_number;
	stop = 1;
}

void pp_keeper_pause(int ms)
{
	struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = (ms % 1000) * 1000000L};

	nanosleep(&t, NULL);
}

uint64_t pp_keeper_drain(struct pp_keeper *k)
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
static int run_is_over(struct pp_keeper *k, size_t run)
{
	const struct pp_run *r = &k->view.run[run];

	if (pp_watch_gone(&k->view.run[run].watch))
		return 1;
	for (size_t i = 0; i < pp_rings_count(k->view.rings); i++) {
		const struct pp_ring_header *h = pp_rings_header(k->view.rings, i);

		/* Of another pid namespace nothing but the rank's own ring is known. */
		if ((r->watch.is_foreign ? h->rank == r->rank : h->pid == r->pid) && pp_ranks_is_over(&k->view, i))
			return 1;
	}
	return 0;
}

/* All run processes that came are over; with all that launchers announced, or nobody new for a while (podprof on
 * some ranks only). */
static int runs_over(struct pp_keeper *k, int *ret_gone)
{
	int announced = 0, over = k->view.runs > 0, outer = 0;

	*ret_gone = k->view.runs > 0;
	for (size_t i = 0; i < k->view.runs; i++) {
		if (!k->view.run[i].watch.gone && !pp_watch_gone(&k->view.run[i].watch))
			*ret_gone = 0;
		if (!run_is_over(k, i)) { /* a launcher around ranks that are over waits for them, as they do for us */
			over = over && k->view.run[i].rank < 0 && pp_rings_count(k->view.rings);
			outer = 1;
		}
		if (k->view.run[i].local_size > announced)
			announced = k->view.run[i].local_size;
	}
	k->runs_over_ms = !over ? 0 : k->runs_over_ms ? k->runs_over_ms : pp_now_ms();
	return over && ((!outer && (int)k->view.runs >= announced) || pp_now_ms() - k->runs_over_ms > SOME_MS);
}

/* Why the window closes now; NULL: it does not. */
static const char *reason_to_close(struct pp_keeper *k)
{
	size_t rings = pp_rings_count(k->view.rings);
	int64_t now = pp_now_ms();
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

void pp_keeper_look(struct pp_keeper *k)
{
	if (k->clock_read)
		pp_wall_watch_run(&k->wall, pp_close_tick_kind(k->view.rings), pp_now_ms());
}

static int run_windows(struct pp_keeper *k, int ending)
{
	return pp_windows_run(&k->windows, &k->job, ending);
}

/* Windows of the program are all that is recorded from the first one on. */
int pp_keeper_is_many(struct pp_keeper *k)
{
	if (!k->many && pp_windows_by_code(k->view.rings)) {
		k->many = 1;
		k->requests.always = 0;
	}
	return k->many;
}

/* Captures leave nothing behind in the windows of the options. */
static void sweep(struct pp_keeper *k)
{
	int active = pp_requests_active(&k->requests);

	if (k->served && !active && !k->requests.always && !pp_timed_has_begun(&k->timed))
		pp_back_sweep(&k->windows, &k->requests, &k->job);
	k->served = active;
}

void pp_keeper_serve(struct pp_keeper *k)
{
	pp_keeper_is_many(k);
	pp_back_run(&k->back, &k->requests, &k->job, 0);
	if (pp_pod_role(k->pod) == PP_POD_FOLLOWER) {
		pp_requests_run(&k->requests, &k->job, k->control, 0);
		return;
	}
	pp_timed_run(&k->timed, &k->windows, &k->job, &k->requests, k->control, 0);
	pp_requests_run(&k->requests, &k->job, k->control, k->windows.busy);
	sweep(k);
	k->windows.hold = pp_requests_active(&k->requests) || pp_timed_holds(&k->timed);
	if (k->many && k->requests.turn != PP_TURN_WRITING &&
	    !pp_pod_is_done(k->pod)) /* else this host's part is in the job's session */
		run_windows(k, 0);
}

static void look_for_rings(struct pp_keeper *k)
{
	pp_unrecorded_look(&k->view, k->control, pp_pod_role(k->pod) == PP_POD_ALONE);
}

/* New rings, deaths; why the window closes now, or NULL. */
static const char *scan(struct pp_keeper *k)
{
	int opened = pp_spool_scan(&k->view);
	const char *why;

	k->blind_ms = opened >= 0 ? 0 : k->blind_ms ? k->blind_ms : pp_now_ms();
	k->blind_code = opened;
	if (opened > 0)
		pp_keeper_make_room(&k->view);
	pp_rings_put_aside(k->view.rings);
	for (size_t i = 0; i < pp_rings_count(k->view.rings); i++)
		pp_rings_let_go(k->view.rings, i);
	if (!k->clock_read && pp_rings_count(k->view.rings)) {
		pp_clock_read_pair(pp_close_tick_kind(k->view.rings), &k->first);
		k->clock_read = 1;
	}
	pp_keeper_look(k);
	look_for_rings(k);
	pp_missing_look(&k->missing, &k->view, k->pod, k->control, pp_now_ms());
	why = reason_to_close(k);
	if (!pp_pod_may_close(k->pod, why != NULL, stop))
		return NULL;
	return why ? why : "the job's other hosts are done";
}

void pp_keeper_rest(struct pp_keeper *k, int ms)
{
	if (!pp_pod_wait(k->pod, ms))
		pp_keeper_pause(ms);
}

static void drain_until_over(struct pp_keeper *k)
{
	int64_t scanned = 0;
	int wait = PP_KEEPER_BUSY_MS, news;
	const char *why = NULL;

	while (!why) {
		uint64_t records = pp_keeper_drain(k);

		pp_sampler_run(&k->sampler, k->view.rings);
		news = pp_pod_run(k->pod);
		if (pp_now_ms() - scanned >= SCAN_MS || !scanned) {
			scanned = pp_now_ms();
			why = scan(k);
			news = 1;
		}
		if (news && !why)
			pp_keeper_serve(k);
		if (records >= CALM_RECORDS)
			wait = PP_KEEPER_BUSY_MS;
		else if (wait < (records ? CALM_MS : PP_KEEPER_IDLE_MS))
			wait = wait * 2 < PP_KEEPER_IDLE_MS ? wait * 2 : PP_KEEPER_IDLE_MS;
		else
			wait = records ? CALM_MS : PP_KEEPER_IDLE_MS;
		if (!why)
			pp_keeper_rest(k, wait < pp_pod_pace(k->pod) ? wait : pp_pod_pace(k->pod));
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
	                                         .event_ranks = k->settings.ranks,
	                                         .wall = &k->wall};
	k->many = pp_step_windows_many(&k->settings.windows) || k->settings.timed;
	pp_windows_init(&k->windows, &k->settings.windows);
	if (k->settings.timed)
		pp_timed_init(&k->timed, k->settings.delay, k->settings.duration, k->settings.at);
	k->job = (struct pp_windows_job){.view = &k->view, .first = &k->first, .options = &k->options, .sampler = &k->sampler};
}

/* The job has the memory of its cgroup. The rings have an eighth of what is left, and records another one: where each becomes a
 * step of its own, the tables made of them are four times as large. */
static void fit_memory(struct pp_settings *s)
{
	uint64_t room = pp_memory_room(PP_MEMORY_CGROUP, PP_MEMORY_ROOT), most = room / 8 > LEAST_BUFFER ? room / 8 : LEAST_BUFFER;

	if (s->buffer <= most)
		return;
	s->buffer = most;
	pp_keeper_log("the window buffer is %" PRIu64 " KiB: the memory cgroup has %" PRIu64 " KiB left", most / 1024, room / 1024);
}

/* Without memory for it this host goes on by itself. */
static void open_pod(struct pp_keeper *k)
{
	struct pp_pod_options o = {.spool = k->spool, .settings = &k->settings, .job = &k->job, .control = k->control};

	if (!pp_pod_new(&o, &k->pod))
		k->job.pod = k->pod;
}

int pp_keeper_main(const char *spool, struct pp_err *err)
{
	struct pp_keeper k = {.spool = spool, .view = {.path = spool}, .begin_ms = pp_now_ms(), .stop = &stop};
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
	fit_memory(&k.settings);
	set_options(&k);
	pp_wall_watch_init(&k.wall);
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
	look_for_rings(&k);
	rc = pp_keeper_close(&k);
	if (pp_keeper_wait(&k) && !rc)
		pp_spool_remove(spool);
	/* A failure stands in the control page and the log; there is no one to return it to. */
	rc = 0;
	pp_requests_end(&k.requests);
	pp_back_release(&k.back);
	pp_control_close(k.control);
release_view:
	pp_pod_free(k.pod);
	pp_sampler_release(&k.sampler);
	pp_wall_watch_release(&k.wall);
	pp_spool_view_release(&k.view);
unlock:
	close(lock);
	return rc;
}
