/* Selects from this host's rings the window that the leader closes. Called by pod_share.c and pod_request.c. */
#include "aggregate/keeper/cluster/pod_cut.h"

#include <errno.h>

#include "aggregate/read/ring/cut.h"
#include "aggregate/session/window_rows.h"

static int ticks_of_request(const struct pp_ring_header *h, const void *context, int64_t *ret_from, int64_t *ret_to)
{
	uint64_t request = pp_ring_request(h), number = *(const uint64_t *)context;
	pp_tick begin = h->request_row.begin, end = h->request_row.end;

	if (request >> 8 != number || ((request & 0xff) != PP_REQUEST_STARTED && (request & 0xff) != PP_REQUEST_PASSED) ||
	    begin > (pp_tick)INT64_MAX || end > (pp_tick)INT64_MAX)
		return 0;
	*ret_from = (int64_t)begin;
	*ret_to = (request & 0xff) == PP_REQUEST_PASSED ? (int64_t)end : INT64_MAX;
	return (request & 0xff) == PP_REQUEST_PASSED ? PP_TICKS_PASSED : 1;
}

static int ticks_of_window(const struct pp_ring_header *h, const void *context, int64_t *ret_from, int64_t *ret_to)
{
	uint64_t index = *(const uint64_t *)context;
	const struct pp_window_row *row = pp_ring_window(h, index);

	if (!row)
		return 0;
	*ret_from = index && row->begin && row->begin < (pp_tick)INT64_MAX ? (int64_t)row->begin : INT64_MIN;
	*ret_to = pp_ring_windows_passed(h) > index && row->end < (pp_tick)INT64_MAX ? (int64_t)row->end : INT64_MAX;
	return *ret_to < INT64_MAX ? PP_TICKS_PASSED : 1;
}

/* Drops what no later window needs; the child has its own copy. */
void pp_pod_drop(const struct pp_windows_job *job, uint64_t index)
{
	for (size_t i = 0; i < pp_rings_count(job->rings); i++) {
		const struct pp_ring_header *h = pp_rings_header(job->rings, i);
		const struct pp_window_row *next = pp_ring_window(h, index + 1);
		int64_t from, to;

		if (!ticks_of_window(h, &index, &from, &to) || to == INT64_MAX)
			continue;
		if (next && (int64_t)next->begin <= to)
			to = (int64_t)next->begin - 1;
		pp_rings_drop(job->rings, i, to);
		pp_sampler_drop(job->sampler, i, to);
	}
}

static int ticks_given(const struct pp_ring_header *h, const void *context, int64_t *ret_from, int64_t *ret_to)
{
	const struct pp_pod_window *w = context;

	(void)h;
	*ret_from = w->from;
	*ret_to = w->to;
	return 1;
}

static int64_t by_chain(const struct pp_clock_map *leader, const struct pp_pieces *chain, int64_t tick)
{
	if (tick == INT64_MIN || tick == INT64_MAX)
		return tick;
	return pp_pieces_inverse(chain, pp_clock_map_ns(leader, (pp_tick)tick));
}

void pp_pod_cut_by_chain(const struct pp_clock_map *leader, const struct pp_pieces *chain, struct pp_pod_window *w)
{
	w->from = by_chain(leader, chain, w->from);
	w->to = by_chain(leader, chain, w->to);
}

static int is_open(int64_t time)
{
	return time == INT64_MIN || time == INT64_MAX;
}

/* Where the begin is known the end is begin + length: the wall clock may be stepped in between. */
int pp_pod_cut_by_date(struct pp_wall_watch *wall, const struct pp_pod_window *dates, struct pp_pod_window *w)
{
	int64_t from = dates->from, to = dates->to, error;
	int rc = 0;

	if (!is_open(from) && !is_open(to) && wall) {
		rc = pp_wall_watch_tick(wall, from, &from, &error);
		to = from + (int64_t)((double)(dates->to - dates->from) * wall->wall.ticks_per_ns);
	} else {
		if (!is_open(from))
			rc = wall ? pp_wall_watch_tick(wall, from, &from, &error) : -ENODATA;
		if (!is_open(to) && !rc)
			rc = wall ? pp_wall_watch_tick(wall, to, &to, &error) : -ENODATA;
	}
	w->from = rc ? INT64_MIN : from;
	w->to = rc ? INT64_MAX : to;
	return rc;
}

struct pp_close_range *pp_pod_ranges(const struct pp_rings *r, const struct pp_pod_window *w)
{
	struct pp_close_range *range;

	if (w->cut == PP_POD_WINDOW)
		return pp_writing_ranges(r, ticks_of_window, &w->number);
	if (w->cut == PP_POD_REQUEST)
		return pp_writing_ranges(r, ticks_of_request, &w->number);
	if (w->cut == PP_POD_API)
		return pp_writing_ranges(r, pp_job_api_ticks, &w->number);
	range = pp_writing_ranges(r, ticks_given, w);
	/* Only the leader's --keep has no end. */
	for (size_t i = 0; range && w->to == INT64_MAX && i < pp_rings_count(r); i++)
		range[i].keep = 1;
	return range;
}

/* Describes how this host's ranks took part; the leader fills the rest of /window. */
static void row_of_rank(const struct pp_ring_header *h, size_t ring, const void *context, struct pp_window_rank *rank)
{
	const struct pp_pod_window *w = context;
	int64_t from, to;

	if (w->cut == PP_POD_WINDOW) {
		pp_window_rows_of_window(h, ring, &w->number, rank);
		return;
	}
	if (w->cut == PP_POD_REQUEST ? !ticks_of_request(h, &w->number, &from, &to)
	    : w->cut == PP_POD_API   ? !pp_job_api_ticks(h, &w->number, &from, &to)
	                             : !ticks_given(h, w, &from, &to))
		return;
	rank->started = from > (int64_t)h->open_tick ? from : (int64_t)h->open_tick;
	rank->acked = w->cut == PP_POD_REQUEST ? rank->started : PP_WINDOW_NEVER;
	rank->ended = to < INT64_MAX ? to : PP_WINDOW_NEVER;
}

int pp_pod_window_metadata(const struct pp_rings *r, const struct pp_pod_window *w, struct pp_window_metadata *metadata)
{
	*metadata = (struct pp_window_metadata){.by = "options", .tries = 1};
	return pp_window_rows_make(r, row_of_rank, w, metadata);
}
