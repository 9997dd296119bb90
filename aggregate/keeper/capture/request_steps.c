/* Captures of steps to come: agrees on them, waits for them, retries where a rank was past the first one. See request.h; called
 * by request.c. */
#include <inttypes.h>
#include <stdlib.h>

#include "aggregate/keeper/capture/request_client.h"
#include "aggregate/keeper/capture/request_private.h"
#include "aggregate/keeper/cluster/pod.h"
#include "aggregate/keeper/control.h"
#include "core/base/now.h"

enum {
	MARGIN = 3, /* steps: how far a rank may run between the reading of its number and its receipt of the request, at least */
	TRIES = 5,
	STILL_MS = 60000, /* no rank begins a step */
	AGREE_MS = 10000, /* without agreement, while steps go on */
	AGREE_STEPS = 20,
};

static void ask(struct pp_requests *r, const struct pp_windows_job *job, struct pp_control *control, int64_t step, int64_t pace);

/* Can all live ranks take part in the agreement through MPI? */
static int can_agree(const struct pp_requests *r, struct pp_spool_view *v)
{
	int ranks = 0;

	for (size_t i = 0; i < pp_rings_count(v->rings) && !r->no_agreement; i++) {
		const struct pp_ring_header *h = pp_rings_header(v->rings, i);

		if (!pp_requests_counts(v, i) || pp_ring_coordinator(h) != PP_COORDINATOR_MPI)
			return 0;
		ranks++;
	}
	return ranks > 0 && pp_rings_header(v->rings, 0)->size > 1;
}

/* The collective completes on all ranks after some steps: two, and two more per doubling of the ranks. */
static int64_t agree_margin(const struct pp_spool_view *v)
{
	int64_t margin = 2;

	for (int32_t n = 1; n < pp_rings_header(v->rings, 0)->size && n < 1 << 30; n *= 2)
		margin += 2;
	return margin;
}

static void say_when(struct pp_requests *r, int64_t step)
{
	r->reported_step = step;
	if (r->kind == PP_ASK_AGREE && r->first == INT64_MIN)
		pp_client_say(r->active, "wait for the ranks to agree on %" PRId64 " steps; the job is in step %" PRId64 "\n",
		              r->active->request.amount, step);
	else
		pp_client_say(r->active, "wait for steps %" PRId64 " to %" PRId64 "; the job is in step %" PRId64 "\n", r->first,
		              r->last - 1, step);
}

/* `pace`: steps since the last turn, some 20 ms ago. */
static void ask(struct pp_requests *r, const struct pp_windows_job *job, struct pp_control *control, int64_t step, int64_t pace)
{
	int agree = can_agree(r, job->view);
	int64_t least = agree ? agree_margin(job->view) : MARGIN;

	r->margin = r->tries ? r->margin * 4 : least > MARGIN + 2 * pace ? least : MARGIN + 2 * pace;
	r->tries++;
	if (r->margin > INT64_MAX / 8 || step > INT64_MAX / 4) {
		pp_requests_fail(r, control, "the job's step numbers cannot be counted on");
		return;
	}
	r->first = agree ? INT64_MIN : step + r->margin;
	r->last = agree ? INT64_MIN : r->first + r->active->request.amount;
	r->turn = PP_TURN_ASKED;
	r->moved_ms = pp_now_ms();
	r->begun_step = step;
	if (agree)
		pp_requests_tell(r, control, PP_ASK_AGREE, r->margin, r->active->request.amount);
	else
		pp_requests_tell(r, control, PP_ASK_STEPS, r->first, r->last);
	if (agree)
		pp_keeper_log("request: ranks agree on %" PRId64 " steps, %" PRId64 " after the highest, which is in %" PRId64,
		              r->active->request.amount, r->margin, step);
	else
		pp_keeper_log("request: steps %" PRId64 ":%" PRId64 " of all ranks, the highest is in %" PRId64, r->first, r->last,
		              step);
	say_when(r, step);
}

void pp_requests_begin_steps(struct pp_requests *r, const struct pp_windows_job *job, struct pp_control *control, int64_t step,
                             int64_t pace)
{
	if (step == INT64_MIN) {
		pp_requests_fail(r, NULL,
		                 "no rank marks a step: there is nothing to count. Ask for a time, as in --duration 2s, or mark "
		                 "steps by podprof_step_begin(), as docs/capture.md has it");
		return;
	}
	r->no_agreement = 0;
	ask(r, job, control, step, pace);
}

static int ticks_of(const struct pp_ring_header *h, const void *context, int64_t *ret_from, int64_t *ret_to)
{
	enum pp_request_state state = pp_requests_rank_state(context, h);
	pp_tick begin = h->request_row.begin, end = h->request_row.end;

	if ((state != PP_REQUEST_STARTED && state != PP_REQUEST_PASSED) || begin > (pp_tick)INT64_MAX || end > (pp_tick)INT64_MAX)
		return 0;
	*ret_from = (int64_t)begin;
	*ret_to = state == PP_REQUEST_PASSED ? (int64_t)end : INT64_MAX;
	return state == PP_REQUEST_PASSED ? PP_TICKS_PASSED : 1;
}

void pp_requests_write_steps(struct pp_requests *r, const struct pp_windows_job *job)
{
	struct pp_close_range *range;
	struct pp_window_told metadata;

	/* After the ranks' answers are read: all that they recorded before is in the rings now. */
	pp_rings_drain_all(job->view->rings);
	range = pp_writing_ranges(job->view->rings, ticks_of, r);
	if (!range) {
		pp_requests_fail(r, NULL, "the job ended: no rank began a step of it");
		return;
	}
	pp_requests_window_metadata(r, job, &metadata);
	pp_requests_write(r, job, range, &metadata,
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
static int look(struct pp_requests *r, struct pp_spool_view *v)
{
	int passed = 1, seen = 0, late = 0;

	pp_requests_note(r, v);
	for (size_t i = 0; i < pp_rings_count(v->rings); i++) {
		const struct pp_ring_header *h = pp_rings_header(v->rings, i);
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

void pp_requests_wait_steps(struct pp_requests *r, const struct pp_windows_job *job, struct pp_control *control, int64_t step,
                            int busy)
{
	int over = look(r, job->view);

	if (over == -2 || (!over && agreement_hangs(r, step))) {
		pp_keeper_log("request: no agreement through MPI: the keeper fixes the steps");
		r->no_agreement = 1;
		ask(r, job, control, step, 0);
	} else if (over < 0 && r->tries < TRIES) {
		ask(r, job, control, step, 0);
	} else if (over < 0) {
		pp_requests_fail(
		        r, control,
		        "steps come faster than ranks can be told of a window: none was captured on all of them. Ask again, "
		        "or for a time, as in --duration 2s");
	} else if (over && !busy) {
		pp_requests_write_steps(r, job);
	} else if (!over && pp_now_ms() - r->moved_ms > STILL_MS) {
		pp_requests_fail(
		        r, control,
		        "no rank has begun a step for a minute: nothing was captured. 'podprof status' says where they are");
	} else if (step > r->reported_step) {
		say_when(r, step);
	}
}
