/* Tells the clocks of rings apart; see ring_clock.h. Called by finish.c, aggregate/session and aggregate/keeper. */
#include "aggregate/read/ring/ring_clock.h"

#include <stdio.h>
#include <string.h>

#define TICKS_MOST ((pp_tick)1 << 62)  /* a larger one is damage */
#define UNKNOWN_AGE ((pp_tick)1 << 43) /* of a process whose ring has no start: more than half an hour of any counter */

pp_tick pp_ring_earliest(const struct pp_ring_header *h)
{
	const pp_tick open = h->open_tick < TICKS_MOST ? h->open_tick : 0, start = h->start_tick;

	if (start && start <= open)
		return start;
	return open > UNKNOWN_AGE ? open - UNKNOWN_AGE : 1;
}

int pp_rings_same_clock(const struct pp_ring_header *a, const struct pp_ring_header *b)
{
	return a->tick_kind == b->tick_kind && !strncmp(a->boot_id, b->boot_id, sizeof(a->boot_id)) &&
	       (a->tick_kind != PP_TICK_RAW || !strncmp(a->timens_ns, b->timens_ns, sizeof(a->timens_ns)));
}

void pp_rings_name_clock(const char *boot_id, const char *timens, uint32_t tick_kind, char *name, size_t size)
{
	const struct pp_ring_header *h = NULL;

	if (boot_id[0])
		snprintf(name, size, "%.*s %s%s%.*s", (int)sizeof(h->boot_id), boot_id,
		         tick_kind == PP_TICK_RAW ? "raw" : "counter", tick_kind == PP_TICK_RAW ? " " : "",
		         tick_kind == PP_TICK_RAW ? (int)sizeof(h->timens_ns) : 0, timens);
}
