/* Captures by time: cut out of what ranks record anyway, or recorded from now on. See request.h; called by request.c. */
#include <inttypes.h>
#include <stdlib.h>

#include "aggregate/keeper/capture/request_client.h"
#include "aggregate/keeper/capture/request_private.h"
#include "aggregate/keeper/cluster/pod.h"
#include "aggregate/keeper/control.h"
#include "aggregate/keeper/ranks.h"
#include "core/base/now.h"

enum {
	OPEN_MS = 2000,    /* for ranks that have not begun to record, once one has */
	SILENT_MS = 60000, /* for the first one */
	SAY_MS = 1000,
};

static int ticks_of(const struct pp_ring_header *h, const void *context, int64_t *ret_from, int64_t *ret_to)
{
	const struct pp_requests *r = context;

	*ret_from = pp_timestamp_pair_tick(&r->from, h);
	*ret_to = pp_timestamp_pair_tick(&r->to, h);
	return 1;
}

/* How much of the window is held for the rank that has least; 0: all of it. */
static int64_t held(const struct pp_requests *r, const struct pp_rings *rings, int *ret_evicted)
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

void pp_requests_write_time(struct pp_requests *r, const struct pp_windows_job *job)
{
	struct pp_close_range *range;
	struct pp_window_told metadata;
	struct pp_pod_window hosts;

	pp_rings_drain_all(job->view->rings);
	r->held_ns = held(r, job->view->rings, &r->evicted);
	range = pp_writing_ranges(job->view->rings, ticks_of, r);
	if (!range) {
		pp_requests_fail(r, NULL, "the keeper has no memory to write it");
		return;
	}
	pp_requests_window_metadata(r, job, &metadata);
	hosts = (struct pp_pod_window){.cut = PP_POD_TICKS,
	                               .number = r->number,
	                               .from = pp_timestamp_pair_tick(&r->from, pp_rings_header(job->view->rings, 0)),
	                               .to = pp_timestamp_pair_tick(&r->to, pp_rings_header(job->view->rings, 0)),
	                               .first = r->first,
	                               .last = r->last};
	pp_requests_write(r, job, range, &metadata, &hosts);
}

static int64_t ends_ns(const struct pp_requests *r)
{
	return r->from.raw_ns + r->active->request.amount;
}

static void say_when(struct pp_requests *r)
{
	int64_t left = ends_ns(r) - pp_timestamp_pair_now().raw_ns;

	if (pp_now_ms() - r->moved_ms < SAY_MS)
		return;
	r->moved_ms = pp_now_ms();
	pp_client_say(r->active, "wait %.0f s more of %.1f s\n", left > 0 ? (double)left / 1e9 : 0.0,
	              (double)r->active->request.amount / 1e9);
}

static void look_back(struct pp_requests *r)
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

void pp_requests_begin_time(struct pp_requests *r, const struct pp_windows_job *job, struct pp_control *control, int busy)
{
	enum pp_capture_request_kind kind = r->active->request.kind;

	r->first = r->last = 0;
	r->kind = PP_ASK_NOTHING;
	r->tries = 1;
	if (kind != PP_CAPTURE_REQUEST_DURATION && !r->always) {
		pp_requests_fail(
		        r, NULL,
		        "the job records in windows only, there is nothing to look back to. Run it without --steps, or with "
		        "--keep; or ask for what is to come, as in --duration 2s");
		return;
	}
	r->from = pp_timestamp_pair_now();
	r->moved_ms = pp_now_ms();
	r->turn = PP_TURN_TIMED;
	if (kind != PP_CAPTURE_REQUEST_DURATION)
		look_back(r);
	if (kind != PP_CAPTURE_REQUEST_DURATION && !busy)
		pp_requests_write_time(r, job);
	if (kind != PP_CAPTURE_REQUEST_DURATION || r->always)
		return;
	pp_rings_begin_within(job->view->rings);
	pp_requests_tell(r, control, PP_ASK_NOW, 0, 0);
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

	pp_requests_note(r, job->view);
	for (size_t i = 0; i < pp_rings_count(job->view->rings); i++)
		if (pp_requests_rank_state(r, pp_rings_header(job->view->rings, i)) == PP_REQUEST_STARTED)
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
		pp_requests_fail(
		        r, control,
		        "no rank has marked a step or called MPI for a minute: nothing was captured. 'podprof status' says "
		        "where they are");
	}
}

void pp_requests_wait_time(struct pp_requests *r, const struct pp_windows_job *job, struct pp_control *control, int busy)
{
	int was_asked = r->kind == PP_ASK_NOW;

	if (r->active->request.kind != PP_CAPTURE_REQUEST_DURATION) {
		if (!busy) /* what it requests was held until then */
			pp_requests_write_time(r, job);
		return;
	}
	if (r->turn == PP_TURN_OPEN) {
		wait_open(r, job, control);
		return;
	}
	if (pp_timestamp_pair_now().raw_ns < ends_ns(r)) {
		say_when(r);
		return;
	}
	if (busy) /* ranks that were asked to record continue meanwhile; the window ends as planned */
		return;
	r->to = pp_timestamp_pair_now();
	if (r->to.raw_ns > ends_ns(r))
		r->to = pp_timestamp_pair_before(&r->to, &r->origin, r->to.raw_ns - ends_ns(r));
	pp_requests_write_time(r, job);
	if (was_asked)
		pp_requests_tell(r, control, PP_ASK_NOTHING, 0, 0);
}
