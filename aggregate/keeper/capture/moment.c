/* Both clocks at once, and the rate of one by the other; see moment.h. */
#include "aggregate/keeper/capture/moment.h"

enum { APART_NS = 10000000 };

__extension__ typedef __int128 wide;

struct pp_moment pp_moment_now(void)
{
	return (struct pp_moment){.counter = pp_tick_counter(), .raw_ns = (int64_t)pp_tick_raw()};
}

struct pp_moment pp_moment_before(const struct pp_moment *now, const struct pp_moment *origin, int64_t ns)
{
	int64_t way_ns = now->raw_ns - origin->raw_ns;
	wide ticks = (wide)(now->counter - origin->counter);

	if (way_ns < APART_NS)
		return *origin;
	ticks = ticks * ns / way_ns;
	if (ticks > (wide)now->counter || ns > now->raw_ns)
		return (struct pp_moment){0};
	return (struct pp_moment){.counter = now->counter - (pp_tick)ticks, .raw_ns = now->raw_ns - ns};
}

int64_t pp_moment_tick(const struct pp_moment *m, const struct pp_ring_header *h)
{
	return h->tick_kind == PP_TICK_RAW ? m->raw_ns : (int64_t)m->counter;
}

int64_t pp_moment_since(const struct pp_moment *m, const struct pp_moment *origin, const struct pp_ring_header *h, int64_t tick)
{
	int64_t way_ns = m->raw_ns - origin->raw_ns;
	wide ticks = (wide)(m->counter - origin->counter);

	if (h->tick_kind == PP_TICK_RAW)
		return m->raw_ns - tick;
	return ticks > 0 && way_ns > 0 ? (int64_t)((wide)((int64_t)m->counter - tick) * way_ns / ticks) : 0;
}
