/* One capture on request: agreed, waited for, written. See request.h. Called by keeper.c. */
#include "aggregate/keeper/request.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "aggregate/keeper/control.h"
#include "aggregate/keeper/ranks.h"
#include "aggregate/keeper/request_socket.h"

enum {
	MARGIN = 3, /* steps: what a rank may go on between its number being read and the keeper's word being seen, at least */
	TRIES = 5,
	STILL_MS = 60000, /* no rank marks a step */
	LIMIT_MS = 600000,
	DRAINS = 8,
	JUMP = 1 << 30,
};

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int pp_requests_active(const struct pp_requests *r)
{
	return r->active != NULL;
}

static int64_t step_of(const struct pp_ring_header *h)
{
	uint32_t threads = atomic_load(&h->thread_used);
	int64_t step = INT64_MIN;

	for (uint32_t i = 0; i < threads && i < PP_RING_THREADS; i++)
		if (h->thread[i].where.step > step)
			step = h->thread[i].where.step;
	return step;
}

/* It marks steps and lives: its word counts. */
static int counts(struct pp_spool_view *v, size_t ring)
{
	return atomic_load_explicit(&pp_rings_header(v->rings, ring)->step_marks, memory_order_relaxed) &&
	       !pp_ranks_has_ended(v, ring);
}

/* The highest step of all ranks; INT64_MIN: none marks any. */
static int64_t highest(struct pp_spool_view *v)
{
	int64_t step = INT64_MIN;

	for (size_t i = 0; i < pp_rings_count(v->rings); i++)
		if (counts(v, i) && step_of(pp_rings_header(v->rings, i)) > step)
			step = step_of(pp_rings_header(v->rings, i));
	return step;
}

static void tell_ranks(struct pp_requests *r, struct pp_control *control, int64_t first, int64_t last)
{
	atomic_store_explicit(&control->request_first, first, memory_order_relaxed);
	atomic_store_explicit(&control->request_last, last, memory_order_relaxed);
	/* Release: the numbers are there when the bell is seen. */
	atomic_store_explicit(&control->bell, ++r->number, memory_order_release);
}

static void end_request(struct pp_requests *r)
{
	pp_client_leave(r->active);
	r->active = NULL;
	r->turn = PP_TURN_IDLE;
}

static void fail(struct pp_requests *r, struct pp_control *control, const char *why)
{
	pp_keeper_log("request of %" PRId64 " steps: %s", r->active->steps, why);
	if (control)
		tell_ranks(r, control, 0, 0);
	pp_client_say(r->active, "failed\n%s", why);
	end_request(r);
}

/* `pace`: steps since the last turn, which was some 20 ms ago. */
static void ask(struct pp_requests *r, struct pp_control *control, int64_t step, int64_t pace)
{
	r->margin = r->tries ? r->margin * 4 : MARGIN + 2 * pace;
	r->tries++;
	if (r->margin > INT64_MAX / 8 || step > INT64_MAX / 4) {
		fail(r, control, "the job's step numbers cannot be counted on");
		return;
	}
	r->first = step + r->margin;
	r->last = r->first + r->active->steps;
	r->turn = PP_TURN_ASKED;
	r->moved_ms = now_ms();
	tell_ranks(r, control, r->first, r->last);
	pp_keeper_log("request: steps %" PRId64 ":%" PRId64 " of all ranks, the highest is in %" PRId64, r->first, r->last, step);
	pp_client_say(r->active, "wait for steps %" PRId64 " to %" PRId64 "; the job is in step %" PRId64 "\n", r->first,
	              r->last - 1, step);
}

static void take_next(struct pp_requests *r, const struct pp_windows_job *job, struct pp_control *control, int64_t step,
                      int64_t pace)
{
	for (int i = 0; i < PP_REQUEST_CLIENTS; i++)
		if (r->client[i].state == PP_CLIENT_QUEUED && (!r->active || r->client[i].order < r->active->order))
			r->active = &r->client[i];
	if (!r->active)
		return;
	r->active->state = PP_CLIENT_ACTIVE;
	r->tries = 0;
	if (!pp_rings_count(job->view->rings))
		fail(r, NULL, "no rank has come yet (no MPI call, no step, no range). Ask again when the job runs");
	else if (step == INT64_MIN)
		fail(r, NULL,
		     "no rank marks a step: there is nothing to count. Mark steps by podprof_step_begin(), as docs/capture.md has "
		     "it");
	else
		ask(r, control, step, pace);
}

/* What this rank made of the request; NONE: it has not looked yet. */
static enum pp_request_state word_of(const struct pp_requests *r, const struct pp_ring_header *h)
{
	uint64_t word = atomic_load_explicit(&h->request, memory_order_acquire);

	return word >> 8 == r->number ? (enum pp_request_state)(word & 0xff) : PP_REQUEST_NONE;
}

static int ticks_of(const struct pp_ring_header *h, const void *context, int64_t *ret_from, int64_t *ret_to)
{
	enum pp_request_state word = word_of(context, h);
	pp_tick begin = h->request_row.begin, end = h->request_row.end;

	if ((word != PP_REQUEST_STARTED && word != PP_REQUEST_PASSED) || begin > (pp_tick)INT64_MAX || end > (pp_tick)INT64_MAX)
		return 0;
	*ret_from = (int64_t)begin;
	*ret_to = word == PP_REQUEST_PASSED ? (int64_t)end : INT64_MAX;
	return 1;
}

static void drain(struct pp_rings *rings)
{
	uint64_t records = 1;

	for (int round = 0; round < DRAINS && records; round++) {
		records = 0;
		for (size_t i = 0; i < pp_rings_count(rings); i++)
			records += pp_rings_drain(rings, i, NULL);
	}
}

static void write_it(struct pp_requests *r, const struct pp_windows_job *job)
{
	struct pp_close_range *range;
	int rc = -1;

	/* After the ranks' words: what they recorded before them is there now. */
	drain(job->view->rings);
	range = pp_writing_ranges(job->view->rings, ticks_of, r);
	if (range)
		rc = pp_writing_start(&r->aside, job, r->first, r->last, range, LIMIT_MS);
	free(range);
	if (rc) {
		fail(r, NULL, range ? "the keeper has no process to write it" : "no rank began a step of it");
		return;
	}
	r->turn = PP_TURN_WRITING;
	pp_client_say(r->active, "wait for the files\n");
}

/* All that count have passed it: 1. One was late: -1. */
static int look(const struct pp_requests *r, struct pp_spool_view *v)
{
	int passed = 1, seen = 0;

	for (size_t i = 0; i < pp_rings_count(v->rings); i++) {
		enum pp_request_state word = word_of(r, pp_rings_header(v->rings, i));

		if (word == PP_REQUEST_LATE)
			return -1;
		seen |= word == PP_REQUEST_PASSED;
		passed = passed && (word == PP_REQUEST_PASSED || !counts(v, i));
	}
	return passed && seen;
}

static void wait_for_ranks(struct pp_requests *r, const struct pp_windows_job *job, struct pp_control *control, int64_t step,
                           int busy)
{
	int over = look(r, job->view);

	if (over < 0 && r->tries < TRIES)
		ask(r, control, step, 0);
	else if (over < 0)
		fail(r, control,
		     "steps come faster than ranks can be told of a window: none was captured on all of them. Ask again");
	else if (over && !busy)
		write_it(r, job);
	else if (!over && now_ms() - r->moved_ms > STILL_MS)
		fail(r, control,
		     "no rank has begun a step for a minute: nothing was captured. 'podprof status' says where they are");
	else if (step > r->told_step) {
		r->told_step = step;
		pp_client_say(r->active, "wait for steps %" PRId64 " to %" PRId64 "; the job is in step %" PRId64 "\n", r->first,
		              r->last - 1, step);
	}
}

static void answer(struct pp_requests *r)
{
	const struct pp_aside_answer *a = &r->aside.answer;

	if (!pp_aside_done(&r->aside))
		return;
	if (r->active) {
		pp_keeper_log("request: steps %" PRId64 ":%" PRId64 ": %s", r->first, r->last, a->code ? a->err.text : a->text);
		pp_client_say(r->active, "%s\n%s", a->code || !a->message.session[0] ? "failed" : "done",
		              a->code ? a->err.text : a->text);
		end_request(r);
	}
	r->turn = PP_TURN_WRITING; /* until the child has made its page */
	if (pp_aside_over(&r->aside))
		r->turn = PP_TURN_IDLE;
}

/* Steps since the last turn; numbers that jump further than any job walks are no pace. */
static int64_t pace_of(const struct pp_requests *r, int64_t step)
{
	uint64_t moved = (uint64_t)step - (uint64_t)r->seen_step;

	return step > r->seen_step && r->seen_step != INT64_MIN && moved < JUMP ? (int64_t)moved : 0;
}

void pp_requests_run(struct pp_requests *r, const struct pp_windows_job *job, struct pp_control *control, int busy)
{
	int64_t step = highest(job->view), pace = pace_of(r, step);

	pp_requests_listen(r, now_ms());
	if (step != r->seen_step)
		r->moved_ms = now_ms();
	r->seen_step = step;
	if (r->turn == PP_TURN_ASKED && pp_client_gone(r->active)) {
		tell_ranks(r, control, 0, 0);
		end_request(r);
	}
	if (r->turn == PP_TURN_IDLE)
		take_next(r, job, control, step, pace);
	else if (r->turn == PP_TURN_ASKED)
		wait_for_ranks(r, job, control, step, busy);
	else
		answer(r);
}

void pp_requests_close(struct pp_requests *r, const struct pp_windows_job *job, const char *spool)
{
	const struct timespec nap = {.tv_nsec = 1000000};
	char path[4200];

	if (r->listen_fd < 0)
		return;
	close(r->listen_fd);
	r->listen_fd = -1;
	snprintf(path, sizeof(path), "%s/socket", spool);
	unlink(path);
	/* What has begun is written: the ranks' last words came before their end. */
	if (r->turn == PP_TURN_ASKED)
		write_it(r, job);
	while (r->turn == PP_TURN_WRITING) {
		answer(r);
		nanosleep(&nap, NULL);
	}
	for (int i = 0; i < PP_REQUEST_CLIENTS; i++)
		if (r->client[i].state != PP_CLIENT_FREE) {
			pp_client_say(&r->client[i],
			              "failed\nthe job is over, or all its windows are written: the keeper takes no more");
			pp_client_leave(&r->client[i]);
		}
}
