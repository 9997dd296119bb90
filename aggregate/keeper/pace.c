/* The pause between two rounds of draining; see pace.h. */
#include "aggregate/keeper/pace.h"

enum {
	CHUNKS_PER_MS = 4, /* 64 KiB each: a thread at full speed fills a MiB in 4 ms */
	IDLE_MS = 20,
	YOUNG_MS = 4,
	PART_OF_AGE = 100,
};

int64_t pp_pace_room(const struct pp_rings *rings)
{
	int64_t least = INT64_MAX;

	for (size_t i = 0; i < pp_rings_count(rings); i++) {
		int64_t ms = pp_ring_chunk_limit(pp_rings_header(rings, i)) / CHUNKS_PER_MS;

		least = ms < least ? ms : least;
	}
	return least;
}

static int64_t between(int64_t low, int64_t value, int64_t high)
{
	return value < low ? low : value > high ? high : value;
}

int pp_pace_next(struct pp_pace *p, uint64_t records, int64_t room_ms, int64_t now_ms, int64_t age_ms)
{
	int64_t passed = now_ms > p->last_ms ? now_ms - p->last_ms : 1, ms = PP_PACE_MOST_MS;
	int64_t room = between(records ? PP_PACE_LEAST_MS : IDLE_MS, room_ms, PP_PACE_MOST_MS);

	if (records)
		ms = passed * PP_PACE_BATCH / (int64_t)records;
	ms = between(PP_PACE_LEAST_MS, ms, room);
	ms = between(PP_PACE_LEAST_MS, ms, between(YOUNG_MS, age_ms / PART_OF_AGE, PP_PACE_MOST_MS));
	if (p->ms && ms > 2 * (int64_t)p->ms)
		ms = 2 * (int64_t)p->ms;
	p->last_ms = now_ms;
	p->ms = (int)ms;
	return p->ms;
}
