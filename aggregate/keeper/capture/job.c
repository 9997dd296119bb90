/* Selects a window's records from the rings, and closes it with the keeper's samples of processes and clock. See job.h. */
#include "aggregate/keeper/capture/job.h"

#include <errno.h>
#include <stdlib.h>

#include "aggregate/keeper/rank_end.h"
#include "aggregate/read/ring/cut.h"

struct pp_close_range *pp_writing_ranges(const struct pp_rings *r, pp_window_ticks *ticks, const void *context)
{
	size_t rings = pp_rings_count(r);
	struct pp_close_range all = {.from = INT64_MAX, .to = INT64_MIN}, *range = calloc(rings + 1, sizeof(*range));

	if (!range)
		return NULL;
	for (size_t i = 0; i < rings; i++) {
		const struct pp_ring_header *h = pp_rings_header(r, i);
		int number;

		range[i] = (struct pp_close_range){.rank = h->rank, .from = INT64_MAX, .to = INT64_MIN};
		number = ticks(h, context, &range[i].from, &range[i].to);
		if (!number)
			continue;
		range[i].passed = number == PP_TICKS_PASSED;
		all.from = range[i].from < all.from ? range[i].from : all.from;
		all.to = range[i].to > all.to ? range[i].to : all.to;
	}
	for (size_t i = 0; i < rings; i++)
		for (size_t k = 0; k < rings; k++)
			if (range[k].rank ==
			    range[i].rank) { /* two rings of one rank: from the begin on the first to the end on the last */
				range[i].from = range[k].from < range[i].from ? range[k].from : range[i].from;
				range[i].passed = range[k].to > range[i].to ? range[k].passed : range[i].passed;
				range[i].to = range[k].to > range[i].to ? range[k].to : range[i].to;
			}
	if (all.from > all.to) { /* its rows were reused for another window */
		free(range);
		return NULL;
	}
	for (size_t i = 0; i < rings; i++)
		if (range[i].from > range[i].to) {
			range[i].from = all.from;
			range[i].to = all.to;
		}
	return range;
}

/* A rank may overwrite the row while this reads it, and may even be through all rows meanwhile. */
int pp_job_api_ticks(const struct pp_ring_header *header, const void *context, int64_t *ret_from, int64_t *ret_to)
{
	uint64_t place = *(const uint64_t *)context, state;
	const struct pp_api_window_row *row = pp_ring_api_window(header, place);
	pp_tick begin, end;

	state = row ? atomic_load_explicit(&row->state, memory_order_acquire) : PP_API_WINDOW_ASKED;
	if (state != PP_API_WINDOW_BEGUN && state != PP_API_WINDOW_PASSED)
		return 0;
	begin = row->begin;
	end = row->end;
	atomic_thread_fence(memory_order_acquire); /* orders the row's fields before the check that the row was not reused */
	if (pp_ring_api_window(header, place) != row || begin > (pp_tick)INT64_MAX || end > (pp_tick)INT64_MAX)
		return 0;
	*ret_from = (int64_t)begin;
	*ret_to = state == PP_API_WINDOW_PASSED ? (int64_t)end : INT64_MAX;
	return state == PP_API_WINDOW_PASSED ? PP_TICKS_PASSED : 1;
}

void pp_job_drop_all(const struct pp_windows_job *job)
{
	for (size_t i = 0; i < pp_rings_count(job->rings); i++) {
		pp_rings_drop(job->rings, i, INT64_MAX);
		pp_sampler_drop(job->sampler, i, INT64_MAX);
	}
}

void pp_writing_edge(const struct pp_windows_job *job)
{
	if (pp_rings_count(job->rings))
		pp_wall_watch_edge(job->wall, pp_close_tick_kind(job->rings));
}

static void status_of(void *context, size_t ring, const struct pp_rank *rank, char *text, size_t size)
{
	(void)rank;
	pp_rank_end_status(context, ring, text, size);
}

int pp_job_close(const struct pp_windows_job *job, const struct pp_close *given, struct pp_err *err)
{
	struct pp_session_options options = *given->options;
	struct pp_row_host_clock wall = {.host_bound_ns = PP_BOUND_UNKNOWN};
	struct pp_close c = *given;
	int rc;

	if (pp_wall_watch_fill(job->wall, &wall))
		return pp_err_set(err, -ENOMEM, "no memory for this host's clock");
	options.wall = &job->wall->wall;
	c.options = &options;
	c.rings = job->rings;
	c.refused = job->view->refused;
	c.warnings = job->warnings;
	c.status_of = status_of;
	c.status_context = job->view;
	c.first = job->first;
	c.sampler = job->sampler;
	c.give_samples = pp_sampler_give;
	c.wall = &wall;
	rc = pp_close_session(&c, err);
	pp_host_clock_release(&wall);
	return rc;
}
