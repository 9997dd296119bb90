/* Which of this host's ranks are over, seen, expected. See ranks.h. */
#include "aggregate/spool/ranks.h"

/* Did the same process open another ring later, after exec? */
static int is_followed(const struct pp_spool_view *v, const struct pp_ring_header *h)
{
	for (size_t i = 0; i < pp_spool_count(v); i++) {
		const struct pp_ring_header *later = pp_spool_header(v, i);

		if (later->pid == h->pid && later->pid_space == h->pid_space && later->start_time == h->start_time &&
		    later->open_tick > h->open_tick)
			return 1;
	}
	return 0;
}

int pp_ranks_has_ended(struct pp_spool_view *v, size_t ring)
{
	const struct pp_ring_header *h = pp_spool_header(v, ring);

	return pp_spool_is_excluded(v, ring) || is_followed(v, h) || pp_ring_state(h) == PP_RANK_ENDING ||
	       pp_watch_gone(&v->rank[ring]);
}

int pp_ranks_is_over(struct pp_spool_view *v, size_t ring)
{
	const struct pp_ring_header *h = pp_spool_header(v, ring);

	return pp_ring_window_state(h) >= 2 || pp_ranks_has_ended(v, ring);
}

uint64_t pp_ranks_words(const struct pp_spool_view *v, int *ret_recording)
{
	uint64_t words = 0;

	*ret_recording = 0;
	for (size_t i = 0; i < pp_spool_count(v); i++) {
		const struct pp_ring_header *h = pp_spool_header(v, i);
		const uint64_t word[] = {pp_ring_state(h),        pp_ring_recording(h),   pp_ring_step_marks(h),
		                         pp_ring_window_state(h), pp_ring_mpi_state(h),   pp_ring_claim_by(h),
		                         pp_ring_net_wanted(h),   pp_ring_signals(h),     pp_ring_windows_passed(h),
		                         pp_ring_request(h),      pp_ring_api_windows(h), pp_ring_claim_beside(h)};

		for (size_t k = 0; k < sizeof(word) / sizeof(word[0]); k++)
			words = words * 31 + word[k];
		*ret_recording |= pp_ring_recording(h) != 0;
	}
	return words;
}

int pp_ranks_seen(const struct pp_spool_view *v)
{
	int seen = 0;

	for (size_t i = 0; i < pp_spool_count(v); i++) {
		size_t j = 0;

		while (j < i && (pp_spool_header(v, j)->rank != pp_spool_header(v, i)->rank || pp_spool_is_excluded(v, j)))
			j++;
		seen += j == i && !pp_spool_is_excluded(v, i);
	}
	return seen;
}

int pp_ranks_expected(const struct pp_spool_view *v)
{
	int expected = 0;

	for (size_t i = 0; i < pp_spool_count(v); i++)
		if (pp_spool_header(v, i)->local_size > expected)
			expected = pp_spool_header(v, i)->local_size;
	for (size_t i = 0; i < v->runs; i++)
		if (v->run[i].file.local_size > expected)
			expected = v->run[i].file.local_size;
	return expected;
}

int64_t pp_ranks_step(const struct pp_ring_header *h)
{
	uint32_t threads = pp_ring_thread_used(h);
	int64_t step = INT64_MIN;

	for (uint32_t i = 0; i < threads && i < PP_RING_THREADS; i++)
		if (h->thread[i].where.step > step)
			step = h->thread[i].where.step;
	return step;
}

int64_t pp_ranks_highest_step(const struct pp_spool_view *v)
{
	int64_t highest = INT64_MIN;

	for (size_t i = 0; i < pp_spool_count(v); i++) {
		int64_t step = pp_ranks_step(pp_spool_header(v, i));

		highest = step > highest ? step : highest;
	}
	return highest;
}

int32_t pp_ranks_launched(const struct pp_spool_view *v)
{
	int32_t size = 0, here = 0;

	for (size_t i = 0; i < pp_spool_count(v); i++)
		size = pp_spool_header(v, i)->size > size ? pp_spool_header(v, i)->size : size;
	for (size_t i = 0; i < v->runs; i++) {
		if (v->run[i].file.rank < 0 || !v->run[i].file.sees_launcher) /* containers of one host see only their own ranks */
			return 0;
		here = v->run[i].file.local_size > here ? v->run[i].file.local_size : here;
	}
	return here == size && size <= PP_RANKS_MOST ? size : 0;
}
