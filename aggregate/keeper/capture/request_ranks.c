/* Sends a request to ranks and reads their answers; see request_ranks.h. */
#include "aggregate/keeper/capture/request_ranks.h"

#include <stdio.h>
#include <stdlib.h>

#include "aggregate/keeper/cluster/pod.h"
#include "aggregate/keeper/cluster/pod_ranks.h"
#include "aggregate/keeper/cluster/pod_request.h"
#include "aggregate/session/window_rows.h"
#include "aggregate/spool/ranks.h"
#include "core/base/grow.h"
#include "core/base/now.h"

int pp_requests_counts(struct pp_spool_view *v, size_t ring)
{
	return pp_ring_step_marks(pp_spool_header(v, ring)) && !pp_ranks_has_ended(v, ring);
}

int64_t pp_requests_highest(const struct pp_requests *r, struct pp_spool_view *v)
{
	size_t elsewhere = 0;
	const struct pp_pod_rank *rank = pp_pod_ranks(r->pod, &elsewhere);
	int64_t step = INT64_MIN;

	for (size_t i = 0; i < pp_spool_count(v); i++)
		if (pp_requests_counts(v, i) && pp_ranks_step(pp_spool_header(v, i)) > step)
			step = pp_ranks_step(pp_spool_header(v, i));
	for (size_t i = 0; i < elsewhere; i++)
		if (rank[i].marks && !rank[i].gone && rank[i].step > step)
			step = rank[i].step;
	return step;
}

void pp_requests_publish(struct pp_requests *r, struct pp_control *control, enum pp_ask_kind kind, int64_t first, int64_t last)
{
	const uint32_t level = r->active ? r->active->request.level : 0;

	r->number = (r->number + 1) | (pp_pod_session(r->pod) ? PP_POD_ALONE_REQUESTS : 0);
	pp_control_ring(control, r->number, (uint32_t)kind, first, last, level);
	pp_pod_send_request(r->pod, r->number, kind, first, last, level);
	if (kind == PP_ASK_NOTHING)
		return;
	r->kind = kind;
	r->asked = pp_timestamp_pair_now();
	r->requested_ms = pp_now_ms();
	free(r->acked);
	r->acked = NULL;
	r->ackeds = 0;
}

/* What this rank answered; NONE: nothing yet. */
enum pp_request_state pp_requests_rank_state(const struct pp_requests *r, const struct pp_ring_header *h)
{
	uint64_t state = pp_ring_request(h);

	return state >> 8 == r->number ? (enum pp_request_state)(state & 0xff) : PP_REQUEST_NONE;
}

enum pp_request_state pp_requests_rank_state_elsewhere(const struct pp_requests *r, const struct pp_pod_rank *rank)
{
	return rank->request >> 8 == r->number ? (enum pp_request_state)(rank->request & 0xff) : PP_REQUEST_NONE;
}

void pp_requests_mark(struct pp_requests *r, const struct pp_spool_view *v)
{
	size_t rings = pp_spool_count(v);
	struct pp_timestamp_pair now = pp_timestamp_pair_now();

	if (rings > r->ackeds) {
		if (PP_RESIZE(r->acked, rings))
			return;
		for (size_t i = r->ackeds; i < rings; i++)
			r->acked[i] = PP_WINDOW_NEVER;
		r->ackeds = rings;
	}
	for (size_t i = 0; i < rings; i++) {
		enum pp_request_state state = pp_requests_rank_state(r, pp_spool_header(v, i));

		if (r->acked[i] == PP_WINDOW_NEVER && (pp_requests_taken(state) || state == PP_REQUEST_AGREEING))
			r->acked[i] = pp_timestamp_pair_tick(&now, pp_spool_header(v, i));
	}
}

static int64_t tick_of(pp_tick tick)
{
	return tick && tick < (pp_tick)INT64_MAX ? (int64_t)tick : PP_WINDOW_NEVER;
}

/* No rank was asked: the window is cut out of what the rank records anyway, from its start on. */
static void row_of_time(const struct pp_requests *r, const struct pp_ring_header *h, struct pp_window_rank *row)
{
	int64_t from = pp_timestamp_pair_tick(&r->from, h), to = pp_timestamp_pair_tick(&r->to, h), came = tick_of(h->open_tick);

	if (came > to) {
		snprintf(row->reason, sizeof(row->reason), "it started after the window");
		return;
	}
	row->started = from > came ? from : came;
	row->ended = to;
}

static void state_row(const struct pp_ring_header *h, size_t ring, const void *context, struct pp_window_rank *row)
{
	const struct pp_requests *r = context;
	enum pp_request_state state = pp_requests_rank_state(r, h);
	int by_time = r->active && r->active->request.kind != PP_CAPTURE_REQUEST_STEPS;

	row->asked = pp_timestamp_pair_tick(&r->asked, h);
	if (by_time && r->kind == PP_ASK_NOTHING) {
		row_of_time(r, h, row);
		return;
	}
	row->acked = ring < r->ackeds ? r->acked[ring] : PP_WINDOW_NEVER;
	if (state == PP_REQUEST_STARTED || state == PP_REQUEST_PASSED)
		row->started = tick_of(h->request_row.begin);
	if (by_time && row->started != PP_WINDOW_NEVER)
		row->ended = pp_timestamp_pair_tick(&r->to, h);
	else if (state == PP_REQUEST_PASSED)
		row->ended = tick_of(h->request_row.end);
	if (row->acked == PP_WINDOW_NEVER && row->started == PP_WINDOW_NEVER)
		snprintf(row->reason, sizeof(row->reason), "it did not see the request in time");
	else if (row->started == PP_WINDOW_NEVER)
		snprintf(row->reason, sizeof(row->reason), "it did not begin the window");
	else if (!by_time && row->ended == PP_WINDOW_NEVER)
		snprintf(row->reason, sizeof(row->reason), "the job ended before its window did");
}

void pp_requests_window_metadata(struct pp_requests *r, const struct pp_windows_job *job, struct pp_window_metadata *metadata)
{
	const struct pp_capture_request *request = &r->active->request;
	size_t elsewhere = 0;
	char text[64];

	pp_pod_ranks(r->pod, &elsewhere);

	*metadata = (struct pp_window_metadata){.tries = r->tries ? r->tries : 1};
	snprintf(metadata->by, sizeof(metadata->by), "%s", pp_capture_request_by_name(request->by));
	snprintf(metadata->kind, sizeof(metadata->kind), "%s", pp_capture_request_kind_name(request->kind));
	snprintf(metadata->channel, sizeof(metadata->channel), "%s",
	         r->kind == PP_ASK_AGREE     ? "mpi"
	         : r->kind == PP_ASK_NOTHING ? "none"
	         : elsewhere                 ? "net"
	                                     : "memory");
	snprintf(metadata->what, sizeof(metadata->what), "%.95s%s%.50s",
	         request->kind == PP_CAPTURE_REQUEST_SPAN ? r->span.what : pp_capture_request_text(request, text, sizeof(text)),
	         request->ranks[0] ? " --ranks " : "", request->ranks);
	if (pp_window_rows_make(job->rings, state_row, r, metadata))
		metadata->by[0] = '\0';
}
