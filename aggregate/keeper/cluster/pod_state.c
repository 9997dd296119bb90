/* What all parts of a pod use: time, the log of why hosts are not reached, rank 0's ring, whose clock is whose. Calls no other
 * pod_*.c. */
#include "aggregate/keeper/cluster/pod_state.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "aggregate/keeper/clock/clock_identity.h"
#include "aggregate/spool/control.h"
#include "core/base/now.h"

int64_t pp_pod_now_us(void)
{
	return pp_clock_ns(CLOCK_MONOTONIC) / 1000;
}

void pp_pod_say_why(struct pp_pod *p, const char *fmt, ...)
{
	char text[sizeof(p->why)];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (!strcmp(text, p->why))
		return;
	memcpy(p->why, text, sizeof(text));
	if (p->state != PP_POD_SEARCHING) /* failed searches are retried, and not logged */
		pp_keeper_log("%s", p->why);
}

const struct pp_rings *pp_pod_rings(const struct pp_pod *p)
{
	return p->o.job->rings;
}

int pp_pod_zero(const struct pp_pod *p)
{
	const struct pp_rings *r = p->o.job ? pp_pod_rings(p) : NULL;

	for (size_t i = r ? pp_rings_count(r) : 0; i-- > 0;)
		if (pp_rings_header(r, i)->rank == 0)
			return (int)i;
	return -1;
}

struct pp_wire_clock pp_pod_own_clock(const struct pp_pod *p)
{
	const struct pp_rings *r = p->o.job ? pp_pod_rings(p) : NULL;
	const struct pp_ring_header *h = r && pp_rings_count(r) ? pp_rings_header(r, 0) : NULL;

	if (!r)
		return p->o.clock;
	return h ? (struct pp_wire_clock){h->boot_id, h->timens_ns, h->tick_kind} : (struct pp_wire_clock){NULL, NULL, 0};
}

struct pp_wire_clock pp_pod_clock_of(const struct pp_pod_peer *one)
{
	return (struct pp_wire_clock){one->boot_id, one->timens, one->tick_kind};
}

int pp_pod_same_clock(const struct pp_pod *p, const struct pp_pod_peer *one)
{
	struct pp_wire_clock own = pp_pod_own_clock(p), other = pp_pod_clock_of(one);

	return pp_clock_is_same(&own, &other);
}
