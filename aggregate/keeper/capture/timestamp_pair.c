/* Reads both clocks at once, and the rate of one against the other; see timestamp_pair.h. */
#include "aggregate/keeper/capture/timestamp_pair.h"

enum { SHORT_NS = 10000000 };

__extension__ typedef __int128 wide;

struct pp_timestamp_pair pp_timestamp_pair_now(void)
{
	return (struct pp_timestamp_pair){.counter = pp_tick_counter(), .raw_ns = (int64_t)pp_tick_raw()};
}

struct pp_timestamp_pair pp_timestamp_pair_before(const struct pp_timestamp_pair *now, const struct pp_timestamp_pair *origin,
                                                  int64_t ns)
{
	int64_t elapsed_ns = now->raw_ns - origin->raw_ns;
	wide ticks = (wide)(now->counter - origin->counter);

	if (elapsed_ns < SHORT_NS)
		return *origin;
	ticks = ticks * ns / elapsed_ns;
	if (ticks > (wide)now->counter || ns > now->raw_ns)
		return (struct pp_timestamp_pair){0};
	return (struct pp_timestamp_pair){.counter = now->counter - (pp_tick)ticks, .raw_ns = now->raw_ns - ns};
}

int64_t pp_timestamp_pair_tick(const struct pp_timestamp_pair *m, const struct pp_ring_header *h)
{
	return h->tick_kind == PP_TICK_RAW ? m->raw_ns : (int64_t)m->counter;
}

int64_t pp_timestamp_pair_since(const struct pp_timestamp_pair *m, const struct pp_timestamp_pair *origin,
                                const struct pp_ring_header *h, int64_t tick)
{
	int64_t elapsed_ns = m->raw_ns - origin->raw_ns;
	wide ticks = (wide)(m->counter - origin->counter);

	if (h->tick_kind == PP_TICK_RAW)
		return m->raw_ns - tick;
	return ticks > 0 && elapsed_ns > 0 ? (int64_t)((wide)((int64_t)m->counter - tick) * elapsed_ns / ticks) : 0;
}
