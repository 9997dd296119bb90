/* Serves capture requests one after another: which is next, steps to come and windows by time, what it resulted in. See request.h.
 * Called by keeper.c. */
#include "aggregate/keeper/capture/request.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aggregate/keeper/capture/request_client.h"
#include "aggregate/keeper/capture/request_file.h"
#include "aggregate/keeper/capture/request_own.h"
#include "aggregate/keeper/capture/request_ranks.h"
#include "aggregate/keeper/cluster/pod.h"
#include "aggregate/keeper/cluster/pod_ranks.h"
#include "aggregate/keeper/live.h"
#include "aggregate/spool/control.h"
#include "aggregate/spool/ranks.h"
#include "core/base/now.h"
#include "core/base/rank_list.h"

enum {
	LIMIT_MS = 600000,
	JUMP = 1 << 30,
	MARGIN = 3, /* steps: how far a rank may run between the reading of its number and its receipt of the request, at least */
	TRIES = 5,
	STILL_MS = 60000, /* no rank begins a step */
	AGREE_MS = 10000, /* without agreement, while steps go on */
	AGREE_STEPS = 20,
	OPEN_MS = 2000,    /* for ranks that have not begun to record, once one has */
	SILENT_MS = 60000, /* for the first one */
	SAY_MS = 1000,
	PACE_MS = 20,
};

int pp_requests_active(const struct pp_requests *r)
{
	return r->active != NULL;
}

static void end_request(struct pp_requests *r)
{
	pp_client_leave(r->active);
	r->active = NULL;
	r->turn = PP_TURN_IDLE;
}

/* Ends the active request without a session; withdraws it from the ranks. `control` NULL: it was not sent to them. */
static void fail(struct pp_requests *r, struct pp_control *control, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

static void fail(struct pp_requests *r, struct pp_control *control, const char *fmt, ...)
{
	char why[512], text[64];
	va_list args;

	va_start(args, fmt);
	vsnprintf(why, sizeof(why), fmt, args);
	va_end(args);
	pp_keeper_log("request of %s: %s", pp_capture_request_text(&r->active->request, text, sizeof(text)), why);
	if (control)
		pp_requests_publish(r, control, PP_ASK_NOTHING, 0, 0);
	pp_client_say(r->active, "failed\n%s", why);
	if (r->active->request.by >= PP_BY_SIGNAL)
		pp_own_failed(r, why);
	end_request(r);
}

/* Says which part of the requested time is not held any more. */
static const char *held_text(const struct pp_requests *r, char *text, size_t size)
{
	text[0] = '\0';
	if (r->active->request.kind == PP_CAPTURE_REQUEST_STEPS || !r->held_ns)
		return text;
	if (r->evicted)
		snprintf(text, size, "only its last %.1f s were kept. Give podprof run a larger --keep or --window-buffer",
		         (double)r->held_ns / 1e9);
	else
		snprintf(text, size, "the job has recorded for only %.1f s", (double)r->held_ns / 1e9);
	return text;
}

/* Forks the writer of the active request, and releases `metadata`. */
static void write_window(struct pp_requests *r, const struct pp_windows_job *job, struct pp_close_range *range,
                         struct pp_window_metadata *metadata, const struct pp_pod_window *window)
{
	struct pp_pod_window hosts = *window;
	struct pp_writing w = {.first = r->first,
	                       .last = r->last,
	                       .range = range,
	                       .metadata = metadata,
	                       .event_ranks = r->active->request.ranks,
	                       .hosts = &hosts,
	                       .limit_ms = LIMIT_MS};
	size_t n = strlen(metadata->what);
	char held[128];
	int rc;

	snprintf(hosts.ranks, sizeof(hosts.ranks), "%s", r->active->request.ranks);
	if (*held_text(r, held, sizeof(held)))
		snprintf(metadata->what + n, sizeof(metadata->what) - n, "; %.100s", held);
	rc = pp_writing_start(&r->writer, job, &w);
	free(range);
	pp_window_metadata_release(metadata);
	if (rc) {
		fail(r, NULL, "the keeper cannot start a process to write it: %s", strerror(-rc));
		return;
	}
	r->turn = PP_TURN_WRITING;
	pp_client_say(r->active, "wait for the files\n");
}

/* Steps to come: the ranks agree on them, it waits for them, and retries where a rank was past the first one. */

/* Can all live ranks take part in the agreement through MPI? */
static int can_agree(const struct pp_requests *r, struct pp_spool_view *v)
{
	int ranks = 0;

	for (size_t i = 0; i < pp_spool_count(v) && !r->no_agreement; i++) {
		const struct pp_ring_header *h = pp_spool_header(v, i);

		if (!pp_requests_counts(v, i) || pp_ring_coordinator(h) != PP_COORDINATOR_MPI)
			return 0;
		ranks++;
	}
	return ranks > 0 && pp_spool_header(v, 0)->size > 1;
}

/* The collective completes on all ranks after some steps: two, and two more per doubling of the ranks. */
static int64_t agree_margin(const struct pp_spool_view *v)
{
	int64_t margin = 2;

	for (int32_t n = 1; n < pp_spool_header(v, 0)->size && n < 1 << 30; n *= 2)
		margin += 2;
	return margin;
}

static void say_steps(struct pp_requests *r, int64_t step)
{
	r->reported_step = step;
	if (r->kind == PP_ASK_AGREE && r->first == INT64_MIN)
		pp_client_say(r->active, "wait until the ranks agree on %" PRId64 " steps; the job is in step %" PRId64 "\n",
		              r->active->request.amount, step);
	else
		pp_client_say(r->active, "wait for steps %" PRId64 " to %" PRId64 "; the job is in step %" PRId64 "\n", r->first,
		              r->last - 1, step);
}

/* `pace`: steps in PACE_MS. */
static void ask(struct pp_requests *r, const struct pp_windows_job *job, struct pp_control *control, int64_t step, int64_t pace)
{
	int agree = can_agree(r, job->view);
	int64_t least = agree ? agree_margin(job->view) : MARGIN;

	r->margin = r->tries ? r->margin * 4 : least > MARGIN + 2 * pace ? least : MARGIN + 2 * pace;
	r->tries++;
	if (r->margin > INT64_MAX / 8 || step > INT64_MAX / 4) {
		fail(r, control, "the step numbers of the job are too large");
		return;
	}
	r->first = agree ? INT64_MIN : step + r->margin;
	r->last = agree ? INT64_MIN : r->first + r->active->request.amount;
	r->turn = PP_TURN_ASKED;
	r->moved_ms = pp_now_ms();
	r->begun_step = step;
	if (agree)
		pp_requests_publish(r, control, PP_ASK_AGREE, r->margin, r->active->request.amount);
	else
		pp_requests_publish(r, control, PP_ASK_STEPS, r->first, r->last);
	if (agree)
		pp_keeper_log("request: ranks agree on %" PRId64 " steps, %" PRId64 " after the highest, which is in %" PRId64,
		              r->active->request.amount, r->margin, step);
	else
		pp_keeper_log("request: steps %" PRId64 ":%" PRId64 " of all ranks, the highest is in %" PRId64, r->first, r->last,
		              step);
	say_steps(r, step);
}

static void begin_steps(struct pp_requests *r, const struct pp_windows_job *job, struct pp_control *control, int64_t step,
                        int64_t pace)
{
	if (step == INT64_MIN) {
		fail(r, NULL,
		     "cannot capture steps: no rank marks any. Capture a time, for example "
		     "--duration 2s, or mark steps with podprof_step_begin(): docs/capture.md");
		return;
	}
	r->no_agreement = 0;
	ask(r, job, control, step, pace);
}

static int ticks_of_steps(const struct pp_ring_header *h, const void *context, int64_t *ret_from, int64_t *ret_to)
{
	enum pp_request_state state = pp_requests_rank_state(context, h);
	pp_tick begin = h->request_row.begin, end = h->request_row.end;

	if ((state != PP_REQUEST_STARTED && state != PP_REQUEST_PASSED) || begin > (pp_tick)INT64_MAX || end > (pp_tick)INT64_MAX)
		return 0;
	*ret_from = (int64_t)begin;
	*ret_to = state == PP_REQUEST_PASSED ? (int64_t)end : INT64_MAX;
	return state == PP_REQUEST_PASSED ? PP_TICKS_PASSED : 1;
}

static void write_steps(struct pp_requests *r, const struct pp_windows_job *job)
{
	struct pp_close_range *range;
	struct pp_window_metadata metadata;

	/* After the ranks' answers are read: all that they recorded before is in the rings now. */
	pp_rings_drain_all(job->rings);
	range = pp_writing_ranges(job->rings, ticks_of_steps, r);
	if (!range) {
		fail(r, NULL, "the job ended before any rank began the window");
		return;
	}
	pp_requests_window_metadata(r, job, &metadata);
	write_window(r, job, range, &metadata,
	             &(struct pp_pod_window){.cut = PP_POD_REQUEST, .number = r->number, .first = r->first, .last = r->last});
}

/* The ranks of other hosts: 1 where one was late or has no agreement, else `passed` is 0 where one has not passed it. */
static int rank_late(const struct pp_requests *r, int *passed, int *ret_late)
{
	size_t ranks = 0;
	const struct pp_pod_rank *rank = pp_pod_ranks(r->pod, &ranks);

	for (size_t i = 0; i < ranks; i++) {
		enum pp_request_state state = pp_requests_rank_state_elsewhere(r, &rank[i]);
		int counts = rank[i].marks && !rank[i].gone;

		*ret_late = state == PP_REQUEST_LATE ? -1 : -2;
		if (state == PP_REQUEST_LATE || (state == PP_REQUEST_ALONE && counts))
			return 1;
		*passed = *passed && (state == PP_REQUEST_PASSED || !counts);
	}
	return 0;
}

/* 1: all ranks that count have passed the steps. -1: one was late. -2: there is no agreement. */
static int check_ranks(struct pp_requests *r, struct pp_spool_view *v)
{
	int passed = 1, seen = 0, late = 0;

	pp_requests_mark(r, v);
	for (size_t i = 0; i < pp_spool_count(v); i++) {
		const struct pp_ring_header *h = pp_spool_header(v, i);
		enum pp_request_state state = pp_requests_rank_state(r, h);

		if (state == PP_REQUEST_LATE)
			return -1;
		if (state == PP_REQUEST_ALONE && pp_requests_counts(v, i))
			return -2;
		if (r->kind == PP_ASK_AGREE && r->first == INT64_MIN && pp_requests_taken(state)) {
			r->first = h->request_row.first;
			r->last = h->request_row.last;
			pp_keeper_log("request: ranks agreed on steps %" PRId64 ":%" PRId64, r->first, r->last);
		}
		seen |= state == PP_REQUEST_PASSED;
		passed = passed && (state == PP_REQUEST_PASSED || !pp_requests_counts(v, i));
	}
	if (rank_late(r, &passed, &late))
		return late;
	return passed && seen;
}

/* A rank does not reach the point where the agreement continues (it calls no MPI, for example), while others run on. */
static int agreement_hangs(const struct pp_requests *r, int64_t step)
{
	return r->kind == PP_ASK_AGREE && r->first == INT64_MIN && pp_now_ms() - r->requested_ms > AGREE_MS &&
	       step > r->begun_step + AGREE_STEPS;
}

static void wait_steps(struct pp_requests *r, const struct pp_windows_job *job, struct pp_control *control, int64_t step, int busy)
{
	int over = check_ranks(r, job->view);

	if (over == -2 || (!over && agreement_hangs(r, step))) {
		pp_keeper_log("request: no agreement through MPI: the keeper fixes the steps");
		r->no_agreement = 1;
		ask(r, job, control, step, 0);
	} else if (over < 0 && r->tries < TRIES) {
		ask(r, job, control, step, 0);
	} else if (over < 0) {
		fail(r, control,
		     "cannot capture steps: they are too short for the ranks to agree on "
		     "them. Try again, or capture a time, for example --duration 2s");
	} else if (over && !busy) {
		write_steps(r, job);
	} else if (!over && pp_now_ms() - r->moved_ms > STILL_MS) {
		fail(r, control,
		     "nothing was captured: no rank has begun a step for a minute. See where they are with 'podprof status'");
	} else if (step > r->reported_step) {
		say_steps(r, step);
	}
}

/* Windows by time: cut out of what ranks record anyway, or recorded from now on. */

static int ticks_of_time(const struct pp_ring_header *h, const void *context, int64_t *ret_from, int64_t *ret_to)
{
	const struct pp_requests *r = context;

	*ret_from = pp_timestamp_pair_tick(&r->from, h);
	*ret_to = pp_timestamp_pair_tick(&r->to, h);
	return 1;
}

/* How much of the window is held for the rank that has least; 0: all of it. */
static int64_t held_for(const struct pp_requests *r, const struct pp_rings *rings, int *ret_evicted)
{
	int64_t least = INT64_MAX;

	for (size_t i = 0; i < pp_rings_count(rings); i++) {
		const struct pp_ring_header *h = pp_rings_header(rings, i);
		int64_t horizon = pp_rings_horizon(rings, i), from = pp_timestamp_pair_tick(&r->from, h), ns;
		int evicted = horizon > 0 && h->open_tick < (pp_tick)horizon;

		horizon = evicted ? horizon : (int64_t)h->open_tick;
		if (horizon <= from)
			continue;
		ns = pp_timestamp_pair_since(&r->to, &r->origin, h, horizon);
		if (ns >= least)
			continue;
		least = ns;
		*ret_evicted = evicted;
	}
	return least == INT64_MAX ? 0 : least > 0 ? least : 1;
}

static void write_time(struct pp_requests *r, const struct pp_windows_job *job)
{
	struct pp_close_range *range;
	struct pp_window_metadata metadata;
	struct pp_pod_window hosts;

	pp_rings_drain_all(job->rings);
	r->held_ns = held_for(r, job->rings, &r->evicted);
	range = pp_writing_ranges(job->rings, ticks_of_time, r);
	if (!range) {
		fail(r, NULL, "the keeper has no memory to write it");
		return;
	}
	pp_requests_window_metadata(r, job, &metadata);
	hosts = (struct pp_pod_window){.cut = PP_POD_TICKS,
	                               .number = r->number,
	                               .from = pp_timestamp_pair_tick(&r->from, pp_rings_header(job->rings, 0)),
	                               .to = pp_timestamp_pair_tick(&r->to, pp_rings_header(job->rings, 0)),
	                               .first = r->first,
	                               .last = r->last};
	write_window(r, job, range, &metadata, &hosts);
}

static int64_t ends_ns(const struct pp_requests *r)
{
	return r->from.raw_ns + r->active->request.amount;
}

static void say_left(struct pp_requests *r)
{
	int64_t left = ends_ns(r) - pp_timestamp_pair_now().raw_ns;

	if (pp_now_ms() - r->moved_ms < SAY_MS)
		return;
	r->moved_ms = pp_now_ms();
	pp_client_say(r->active, "wait %.0f s more of %.1f s\n", left > 0 ? (double)left / 1e9 : 0.0,
	              (double)r->active->request.amount / 1e9);
}

static void write_lookback(struct pp_requests *r)
{
	const struct pp_capture_request *request = &r->active->request;

	r->to = pp_timestamp_pair_now();
	r->from = pp_timestamp_pair_before(&r->to, &r->origin, request->amount);
	if (request->kind == PP_CAPTURE_REQUEST_SPAN) {
		r->from = r->span.from;
		r->to = r->span.to;
		r->first = r->span.first;
		r->last = r->span.last;
	}
}

static void begin_time(struct pp_requests *r, const struct pp_windows_job *job, struct pp_control *control, int busy)
{
	enum pp_capture_request_kind kind = r->active->request.kind;

	r->first = r->last = 0;
	r->kind = PP_ASK_NOTHING;
	r->tries = 1;
	if (kind != PP_CAPTURE_REQUEST_DURATION && !r->always) {
		fail(r, NULL,
		     "nothing was kept: this job records only in windows. Run it with --keep or "
		     "without --steps, or capture a time to come, for example --duration 2s");
		return;
	}
	r->from = pp_timestamp_pair_now();
	r->moved_ms = pp_now_ms();
	r->turn = PP_TURN_TIMED;
	if (kind != PP_CAPTURE_REQUEST_DURATION)
		write_lookback(r);
	if (kind != PP_CAPTURE_REQUEST_DURATION && !busy)
		write_time(r, job);
	if (kind != PP_CAPTURE_REQUEST_DURATION || (r->always && !r->active->request.level))
		return;
	pp_rings_begin_within(job->rings);
	pp_requests_publish(r, control, PP_ASK_NOW, 0, 0);
	r->turn = PP_TURN_OPEN;
	pp_keeper_log("request: all ranks record now, for %" PRId64 " ns", r->active->request.amount);
	pp_client_say(r->active, "wait for all ranks to record\n");
}

/* Waits until all live ranks record; then the time begins. */
static void wait_open(struct pp_requests *r, const struct pp_windows_job *job, struct pp_control *control)
{
	int64_t waited = pp_now_ms() - r->requested_ms;
	size_t started = 0, waiting = 0, elsewhere = 0;
	const struct pp_pod_rank *rank;

	pp_requests_mark(r, job->view);
	for (size_t i = 0; i < pp_rings_count(job->rings); i++)
		if (pp_requests_rank_state(r, pp_rings_header(job->rings, i)) == PP_REQUEST_STARTED)
			started++;
		else
			waiting += !pp_ranks_has_ended(job->view, i);
	rank = pp_pod_ranks(r->pod, &elsewhere);
	for (size_t i = 0; i < elsewhere; i++)
		if (pp_requests_rank_state_elsewhere(r, &rank[i]) == PP_REQUEST_STARTED)
			started++;
		else
			waiting += !rank[i].gone;
	if (started && (!waiting || waited > OPEN_MS)) {
		r->from = pp_timestamp_pair_now();
		r->turn = PP_TURN_TIMED;
	} else if (waited > SILENT_MS) {
		fail(r, control,
		     "nothing was captured: no rank has marked a step or called MPI for "
		     "a minute. See where they are with 'podprof status'");
	}
}

static void wait_time(struct pp_requests *r, const struct pp_windows_job *job, struct pp_control *control, int busy)
{
	int was_asked = r->kind == PP_ASK_NOW;

	if (r->active->request.kind != PP_CAPTURE_REQUEST_DURATION) {
		if (!busy) /* what it requests was held until then */
			write_time(r, job);
		return;
	}
	if (r->turn == PP_TURN_OPEN) {
		wait_open(r, job, control);
		return;
	}
	if (pp_timestamp_pair_now().raw_ns < ends_ns(r)) {
		say_left(r);
		return;
	}
	if (busy) /* ranks that were asked to record continue meanwhile; the window ends as planned */
		return;
	r->to = pp_timestamp_pair_now();
	if (r->to.raw_ns > ends_ns(r))
		r->to = pp_timestamp_pair_before(&r->to, &r->origin, r->to.raw_ns - ends_ns(r));
	write_time(r, job);
	if (was_asked)
		pp_requests_publish(r, control, PP_ASK_NOTHING, 0, 0);
}

/* Ranks whose events are requested must be ranks of the job. */
static int lacks_ranks(const struct pp_requests *r, const struct pp_windows_job *job)
{
	struct pp_rank_list list = {0};

	return !pp_rank_list_parse(r->active->request.ranks, &list, NULL) &&
	       pp_rank_list_misses(&list, pp_rings_header(job->rings, 0)->size);
}

static void take_next(struct pp_requests *r, const struct pp_windows_job *job, struct pp_control *control, int64_t step,
                      int64_t pace, int busy)
{
	for (int i = 0; i < PP_REQUEST_SLOTS; i++)
		if (r->client[i].state == PP_CLIENT_QUEUED && (!r->active || r->client[i].order < r->active->order))
			r->active = &r->client[i];
	if (!r->active)
		return;
	r->active->state = PP_CLIENT_ACTIVE;
	r->tries = 0;
	r->held_ns = 0;
	r->asked = r->taken = pp_timestamp_pair_now();
	if (!pp_rings_count(job->rings))
		fail(r, NULL, "no rank has called MPI, begun a step or opened a range so far. Try again when the job runs");
	else if (lacks_ranks(r, job))
		fail(r, NULL, "the job has %d ranks, and none of --ranks %s", (int)pp_rings_header(job->rings, 0)->size,
		     r->active->request.ranks);
	else if (r->active->request.kind == PP_CAPTURE_REQUEST_STEPS)
		begin_steps(r, job, control, step, pace);
	else
		begin_time(r, job, control, busy);
}

static void answer(struct pp_requests *r)
{
	const struct pp_forked_answer *a = &r->writer.answer;
	char held[128], text[64];

	if (!pp_forked_writer_done(&r->writer))
		return;
	if (r->active) {
		const char *sentence = a->code ? a->err.text : a->text;

		held_text(r, held, sizeof(held));
		pp_keeper_log("request of %s: %s", pp_capture_request_text(&r->active->request, text, sizeof(text)), sentence);
		pp_client_say(r->active, "%s\n%s%s%s", a->code || !a->message.session[0] ? "failed" : "done", sentence,
		              held[0] ? "\n" : "", held);
		if (r->active->request.by >= PP_BY_SIGNAL)
			pp_own_done(r, a);
		end_request(r);
	}
	r->turn = PP_TURN_WRITING; /* until the child has made its report */
	if (pp_forked_writer_reaped(&r->writer))
		r->turn = PP_TURN_IDLE;
}

/* Takes notice of the highest step, PACE_MS after the last time or later. Larger jumps of the number are not a pace. */
static void see_step(struct pp_requests *r, int64_t step)
{
	uint64_t moved = (uint64_t)step - (uint64_t)r->seen_step;
	int64_t now = pp_now_ms(), passed = now - r->seen_ms;

	if (passed < PACE_MS)
		return;
	r->pace = step > r->seen_step && r->seen_step != INT64_MIN && moved < JUMP
	                  ? ((int64_t)moved * PACE_MS + passed - 1) / passed
	                  : 0;
	if (step != r->seen_step)
		r->moved_ms = r->turn == PP_TURN_ASKED ? now : r->moved_ms;
	r->seen_step = step;
	r->seen_ms = now;
}

int pp_requests_busy(const struct pp_requests *r)
{
	int busy = r->turn != PP_TURN_IDLE;

	for (int i = 0; i < PP_REQUEST_SLOTS; i++)
		busy |= r->client[i].state != PP_CLIENT_FREE;
	return busy;
}

/* FOLLOWER. Ends what was requested here without rank 0's keeper: that one serves all requests now. */
static void end_own(struct pp_requests *r)
{
	static const char why[] = "rank 0's keeper has been reached meanwhile, and captures are of all hosts: try again";

	if (r->turn == PP_TURN_WRITING) {
		answer(r);
		return;
	}
	if (r->active)
		fail(r, NULL, "%s", why);
	for (int i = 0; i < PP_REQUEST_CLIENTS; i++) {
		if (r->client[i].state != PP_CLIENT_QUEUED && r->client[i].state != PP_CLIENT_CHECKS)
			continue;
		pp_client_say(&r->client[i], "failed\n%s", why);
		pp_client_leave(&r->client[i]);
	}
	pp_request_files_release(&r->files); /* the leader has such a directory */
}

void pp_requests_run(struct pp_requests *r, const struct pp_windows_job *job, struct pp_control *control, int busy)
{
	int64_t step;

	r->pod = job->pod;
	if (pp_requests_pod(r)) {
		end_own(r);
		return;
	}
	step = pp_requests_highest(r, job->view);
	see_step(r, step);
	pp_requests_listen(r, pp_now_ms());
	pp_request_files_run(r, job, pp_now_ms());
	pp_requests_status(r, job->view);
	pp_own_check(r, job);
	if (r->turn != PP_TURN_IDLE && r->turn != PP_TURN_WRITING && pp_client_gone(r->active)) {
		pp_requests_publish(r, control, PP_ASK_NOTHING, 0, 0);
		end_request(r);
	}
	if (r->turn == PP_TURN_IDLE && r->held)
		return;
	if (r->turn == PP_TURN_IDLE)
		take_next(r, job, control, step, r->pace, busy);
	else if (r->turn == PP_TURN_ASKED)
		wait_steps(r, job, control, step, busy);
	else if (r->turn == PP_TURN_WRITING)
		answer(r);
	else
		wait_time(r, job, control, busy);
}

void pp_requests_end(struct pp_requests *r)
{
	pp_request_files_release(&r->files);
	pp_live_close(r->live);
	free(r->acked);
	free(r->seen);
	r->seen = NULL;
	r->live = NULL;
	r->acked = NULL;
}

/* Runs until the child has written: other hosts send their shares meanwhile. */
static void write_out(struct pp_requests *r)
{
	while (r->turn == PP_TURN_WRITING) {
		answer(r);
		pp_pod_run(r->pod);
		if (!pp_pod_wait(r->pod, -1, 1))
			pp_nap_ms(1);
	}
}

void pp_requests_close(struct pp_requests *r, const struct pp_windows_job *job, const char *spool)
{
	char path[4200];

	if (r->listen_fd >= 0) {
		close(r->listen_fd);
		r->listen_fd = -1;
		snprintf(path, sizeof(path), "%s/socket", spool);
		unlink(path);
	}
	/* Requests that have begun are written: the ranks reported before they ended. */
	if (r->turn == PP_TURN_ASKED) {
		write_steps(r, job);
	} else if (r->turn == PP_TURN_TIMED || r->turn == PP_TURN_OPEN) {
		r->to = pp_timestamp_pair_now();
		write_time(r, job);
	}
	write_out(r);
	/* The keeper's own requests are about the past. */
	for (int i = PP_REQUEST_CLIENTS; i < PP_REQUEST_SLOTS && !r->active; i++) {
		if (r->client[i].state != PP_CLIENT_QUEUED || r->client[i].request.kind != PP_CAPTURE_REQUEST_SPAN)
			continue;
		r->active = &r->client[i];
		begin_time(r, job, NULL, 0);
		write_out(r);
	}
	for (int i = 0; i < PP_REQUEST_SLOTS; i++)
		if (r->client[i].state != PP_CLIENT_FREE) {
			pp_client_say(&r->client[i], "failed\nthe job is over: the keeper accepts no more requests");
			pp_client_leave(&r->client[i]);
		}
}
