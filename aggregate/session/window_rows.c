/* Makes rows of /window from the headers of rings; see window_rows.h. */
#include "aggregate/session/window_rows.h"

#include <errno.h>
#include <stdlib.h>

#include "core/capture/capture.h"

static struct pp_window_rank *row_of(struct pp_window_metadata *metadata, int32_t rank)
{
	size_t i = 0;

	while (i < metadata->ranks && metadata->rank[i].rank != rank)
		i++;
	if (i == metadata->ranks)
		metadata->ranks++;
	metadata->rank[i] = (struct pp_window_rank){.rank = rank,
	                                            .asked = PP_WINDOW_NEVER,
	                                            .acked = PP_WINDOW_NEVER,
	                                            .started = PP_WINDOW_NEVER,
	                                            .ended = PP_WINDOW_NEVER};
	return &metadata->rank[i];
}

int pp_window_rows_make(const struct pp_rings *r, pp_window_rows_of *of, const void *context, struct pp_window_metadata *metadata)
{
	size_t rings = pp_rings_count(r);

	metadata->ranks = 0;
	metadata->rank = calloc(rings + 1, sizeof(*metadata->rank));
	if (!metadata->rank)
		return -ENOMEM;
	for (size_t i = 0; i < rings; i++) {
		const struct pp_ring_header *h = pp_rings_header(r, i);

		of(h, i, context, row_of(metadata, h->rank));
	}
	return 0;
}

static int64_t tick_of(pp_tick tick, int64_t fallback)
{
	return tick && tick < (pp_tick)INT64_MAX ? (int64_t)tick : fallback;
}

void pp_window_rows_of_window(const struct pp_ring_header *h, size_t ring, const void *context, struct pp_window_rank *rank)
{
	uint64_t index = *(const uint64_t *)context;
	const struct pp_window_row *row = pp_ring_window(h, index);

	(void)ring;
	rank->asked = rank->acked = tick_of(h->open_tick, PP_WINDOW_NEVER);
	if (!row)
		return;
	rank->started = tick_of(row->begin, rank->asked);
	if (pp_ring_windows_passed(h) > index)
		rank->ended = tick_of(row->end, PP_WINDOW_NEVER);
}

void pp_window_rows_of_options(const struct pp_ring_header *h, size_t ring, const void *context, struct pp_window_rank *rank)
{
	const uint64_t index = 0;

	(void)context;
	pp_window_rows_of_window(h, ring, &index, rank);
	if (h->window_last <= h->window_first)
		rank->started = rank->asked;
}

static int64_t map_one(const struct pp_clock_map *map, int64_t tick)
{
	return tick == PP_WINDOW_NEVER ? tick : pp_clock_map_ns(map, (pp_tick)tick);
}

void pp_window_rows_map(struct pp_window_metadata *metadata, const struct pp_capture *c, const struct pp_clock_map *map,
                        const struct pp_clock_map *other)
{
	for (size_t i = 0; i < metadata->ranks; i++) {
		struct pp_window_rank *r = &metadata->rank[i];
		const struct pp_rank *rank = pp_capture_rank(c, r->rank);
		const struct pp_clock_map *m = rank && rank->counts_other && other ? other : map;

		r->asked = map_one(m, r->asked);
		r->acked = map_one(m, r->acked);
		r->started = map_one(m, r->started);
		r->ended = map_one(m, r->ended);
	}
}
