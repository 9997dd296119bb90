/* The end of a keeper's windows: what is left is written, ranks are told, and served while they train on. Called by keeper.c. */
#include <stdio.h>
#include <string.h>

#include "aggregate/keeper/capture/request_own.h"
#include "aggregate/keeper/control.h"
#include "aggregate/keeper/keeper_private.h"
#include "aggregate/keeper/ranks.h"
#include "aggregate/read/ring/cut.h"
#include "aggregate/session/close.h"
#include "core/base/now.h"

enum {
	LINGER_S = 5, /* beyond --wait, for ranks that are ending */
	LAST_ROUNDS = 8,
	GATHER_MS = 600000, /* that the session of several hosts may take */
};

static int anybody_trains(struct pp_keeper *k)
{
	for (size_t i = 0; i < pp_rings_count(k->view.rings); i++)
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

/* Its windows are over before its ranks are: captures can be asked for still. Of several hosts all or none: a follower that the
 * leader has done with stays while its ranks do. */
static int goes_on(struct pp_keeper *k)
{
	int is_cut = k->many || k->options.steps_last > k->options.steps_first;

	if (*k->stop)
		return 0;
	if (pp_pod_role(k->pod) == PP_POD_LEADER)
		return is_cut && (anybody_trains(k) || others_train(k));
	return anybody_trains(k) && (pp_pod_role(k->pod) == PP_POD_ALONE || pp_pod_is_done(k->pod));
}

/* A turn while a child is at work. */
static void tend(struct pp_keeper *k)
{
	pp_keeper_drain(k);
	pp_keeper_look(k);
	pp_pod_run(k->pod);
	if (k->goes_on)
		pp_requests_run(&k->requests, &k->job, k->control, 1);
	pp_keeper_rest(k, PP_KEEPER_BUSY_MS);
}

static void begin_to_close(struct pp_keeper *k)
{
	pp_control_set(k->control, PP_KEEPER_WRITING, NULL);
	pp_spool_scan(&k->view);
	atomic_store_explicit(&k->control->speaker, pp_missing_speaker(&k->view), memory_order_relaxed);
	/* Ranks that are killed by now still have records in their rings; those that go on recording are not waited for. */
	for (int i = 0; i < LAST_ROUNDS && pp_keeper_drain(k); i++)
		;
	k->options.rendezvous = pp_pod_why(k->pod);
	pp_keeper_log("%zu rings, %llu records, %llu bytes held", pp_rings_count(k->view.rings),
	              (unsigned long long)pp_rings_records(k->view.rings), (unsigned long long)pp_rings_bytes(k->view.rings));
	if (!k->clock_read)
		pp_clock_read_pair(pp_close_tick_kind(k->view.rings), &k->first);
	pp_writing_edge(&k->job);
	k->goes_on = goes_on(k);
	while (k->goes_on && pp_pod_role(k->pod) == PP_POD_LEADER && k->requests.turn == PP_TURN_WRITING)
		tend(k); /* hosts bring one share at a time */
	if (k->goes_on)
		return;
	pp_back_run(&k->back, &k->requests, &k->job, 1);
	pp_requests_close(&k->requests, &k->job, k->spool);
	pp_back_end(&k->back, &k->requests, &k->job);
}

/* A child gathers and writes: this process is heard by the other hosts meanwhile. */
static int close_for_all(struct pp_keeper *k, char *message, size_t size, struct pp_aside *aside, struct pp_err *err)
{
	struct pp_pod_window all = {.cut = PP_POD_ALL, .first = k->options.steps_first, .last = k->options.steps_last};
	struct pp_writing w = {.first = all.first, .last = all.last, .range = k->back.range, .hosts = &all, .limit_ms = GATHER_MS};
	int rc;

	if (k->by_rows)
		all.cut = PP_POD_WINDOW;
	for (size_t i = 0; k->back.range && !k->by_rows && i < pp_rings_count(k->view.rings); i++) {
		const struct pp_close_range *r = &k->back.range[i];

		all.from = all.cut == PP_POD_ALL || r->from < all.from ? r->from : all.from;
		all.to = all.cut == PP_POD_ALL || r->to > all.to ? r->to : all.to;
		all.cut = PP_POD_TICKS;
	}
	rc = pp_writing_start(aside, &k->job, &w);
	if (rc)
		return pp_err_set(err, rc, "no process to write it: %s", strerror(-rc));
	while (!pp_aside_done(aside))
		tend(k);
	snprintf(message, size, "%s", aside->answer.text);
	*err = aside->answer.err;
	return aside->answer.code;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): it is written through close_it */
static int close_here(struct pp_keeper *k, char *message, size_t size, char *later, struct pp_err *err)
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
static void add_why(struct pp_keeper *k, char *message, size_t size)
{
	size_t n = strlen(message);

	if (pp_pod_role(k->pod) == PP_POD_ALONE && !pp_pod_is_done(k->pod) && n && *pp_pod_why(k->pod) && n + 1 < size)
		snprintf(message + n, size - n, "\n%s", pp_pod_why(k->pod));
}

/* What rank 0 was told while the job ran is not said again. 1: a sentence was added. */
static int add_missing(struct pp_keeper *k, char *message, size_t size)
{
	size_t n = strlen(message);
	char text[256];

	pp_missing_text(&k->view, text, sizeof(text));
	if (!*text || !n || n + 1 >= size || (k->missing.said && !atomic_load(&k->control->speaker)))
		return 0;
	snprintf(message + n, size - n, "\n%s", text);
	return 1;
}

/* Where captures had ranks record, or may on other hosts before these are asked for their shares, the options' window is what its
 * rows say. */
static void cut_window(struct pp_keeper *k)
{
	int is_apart = k->requests.number || (k->goes_on && pp_pod_role(k->pod) == PP_POD_LEADER);

	if (k->back.range || !is_apart || k->options.steps_last <= k->options.steps_first)
		return;
	k->windows.hold = k->served || pp_requests_active(&k->requests);
	k->back.range = pp_windows_ranges(&k->windows, &k->job, 0);
	k->by_rows = k->back.range != NULL;
}

static int close_window(struct pp_keeper *k)
{
	char message[sizeof(k->control->message)] = "", later[PP_SESSION_PATH] = "";
	struct pp_aside aside = {.fd = -1};
	struct pp_err err = {""};
	int rc = 0;

	begin_to_close(k);
	cut_window(k);
	if (pp_back_only_triggers(&k->back) || pp_pod_is_done(k->pod))
		rc = 0;
	else if (pp_pod_role(k->pod) == PP_POD_LEADER || k->goes_on)
		rc = close_for_all(k, message, sizeof(message), &aside, &err);
	else
		rc = close_here(k, message, sizeof(message), later, &err);
	if (k->back.range || pp_back_only_triggers(&k->back))
		pp_pod_tell_over(k->pod);
	pp_back_message(&k->back, &k->requests, k->options.logdir, message, sizeof(message));
	if (rc) {
		pp_keeper_log("failed: %s", err.text);
		snprintf(message, sizeof(message), "no session was written: %s", err.text);
	} else {
		if (!add_missing(k, message, sizeof(message))) /* where it explains why there is no other keeper */
			add_why(k, message, sizeof(message));
		pp_keeper_log("done: %s", message);
	}
	pp_control_set(k->control, rc ? PP_KEEPER_FAILED : PP_KEEPER_DONE, message);
	if (!rc && later[0] && pp_session_page(later, &err)) /* `podprof report` tries again and says why */
		pp_keeper_log("no report.html: %s", err.text);
	while (!pp_aside_over(&aside)) /* it makes the page */
		tend(k);
	return rc;
}

/* What is left of several windows; those before are written already. */
static int close_windows(struct pp_keeper *k)
{
	char message[sizeof(k->control->message)] = "";
	int rc;

	begin_to_close(k);
	pp_timed_run(&k->timed, &k->windows, &k->job, &k->requests, k->control, 1);
	while (!pp_pod_is_done(k->pod) && pp_windows_run(&k->windows, &k->job, 1)) {
		pp_keeper_look(k);
		pp_pod_run(k->pod);
		pp_keeper_rest(k, PP_KEEPER_BUSY_MS);
	}
	pp_pod_tell_over(k->pod);
	rc = pp_windows_message(&k->windows, &k->job, message, sizeof(message));
	pp_back_message(&k->back, &k->requests, k->options.logdir, message, sizeof(message));
	if (!rc)
		add_missing(k, message, sizeof(message));
	pp_keeper_log("%s: %s", rc ? "failed" : "done", message);
	pp_control_set(k->control, rc ? PP_KEEPER_FAILED : PP_KEEPER_DONE, message);
	return rc;
}

/* What came by a signal after the message was left; `before` is that message. */
static void tell_more(struct pp_keeper *k, const char *before)
{
	char message[sizeof(k->control->message)], more[1024];
	size_t n = (size_t)snprintf(message, sizeof(message), "%s", before);

	pp_own_message(&k->requests, k->options.logdir, more, sizeof(more));
	if (more[0])
		snprintf(message + n, sizeof(message) - n, "%s", more + !n);
	if (more[0])
		pp_control_set(k->control, (enum pp_keeper_state)atomic_load(&k->control->keeper_state), message);
}

/* A follower stays for the last capture, which ends with the ranks, until the leader has left. */
static int stays(struct pp_keeper *k, int64_t *ended_ms)
{
	if (*k->stop)
		return 0;
	if (anybody_trains(k) || others_train(k) || pp_pod_is_sharing(k->pod)) {
		*ended_ms = pp_now_ms();
		return 1;
	}
	return pp_pod_role(k->pod) == PP_POD_FOLLOWER && pp_now_ms() - *ended_ms <= (k->settings.wait_s + LINGER_S) * 1000;
}

/* Nothing is recorded now but what a capture asks for. What one leaves goes with its end; at a follower with its share. */
static void serve_on(struct pp_keeper *k)
{
	char before[sizeof(k->control->message)];
	int64_t ended_ms = pp_now_ms();
	int asked = pp_pod_role(k->pod) != PP_POD_FOLLOWER, pace;

	snprintf(before, sizeof(before), "%s", k->control->message);
	memset(k->requests.own, 0, sizeof(k->requests.own)); /* it is said in there */
	while (stays(k, &ended_ms)) {
		pp_keeper_drain(k);
		pp_sampler_run(&k->sampler, k->view.rings);
		pp_keeper_look(k);
		pp_pod_run(k->pod);
		pp_requests_run(&k->requests, &k->job, k->control, 0);
		if (asked && !pp_requests_active(&k->requests))
			pp_windows_drop_all(&k->job);
		if (asked && !pp_requests_active(&k->requests))
			tell_more(k, before);
		asked = pp_requests_active(&k->requests);
		pace = pp_pod_pace(k->pod);
		pp_keeper_rest(k, asked ? PP_KEEPER_BUSY_MS : pace < PP_KEEPER_IDLE_MS ? pace : PP_KEEPER_IDLE_MS);
	}
	pp_requests_close(&k->requests, &k->job, k->spool);
	tell_more(k, before);
}

/* Ranks that are ending read the message from the spool; ranks that train on read it when they end. */
int pp_keeper_wait(struct pp_keeper *k)
{
	int64_t ending_ms;

	if (k->goes_on)
		serve_on(k);
	ending_ms = pp_now_ms();
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
			ending_ms = pp_now_ms();
		if (*k->stop || pp_now_ms() - ending_ms > (k->settings.wait_s + LINGER_S) * 1000)
			return 0;
		pp_pod_run(k->pod);
		pp_keeper_rest(k, training ? 100 : PP_KEEPER_IDLE_MS);
	}
}

int pp_keeper_close(struct pp_keeper *k)
{
	return pp_keeper_is_many(k) ? close_windows(k) : close_window(k);
}
