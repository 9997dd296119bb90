/* Compares what two hosts report of their clocks. Called by pod_state.c, pod_tree.c, pod_share.c and doctor_clock_pair.c. */
#include "aggregate/keeper/clock/clock_identity.h"

#include <string.h>

#include "core/base/tick.h"
#include "core/ring/ring_file.h"

/* Bounded, as the texts of a ring may lack their end. */
enum {
	BOOT_ID = sizeof(((struct pp_ring_header *)0)->boot_id),
	TIMENS = sizeof(((struct pp_ring_header *)0)->timens_ns),
};

int pp_clock_is_same(const struct pp_wire_clock *a, const struct pp_wire_clock *b)
{
	return a->boot_id && b->boot_id && a->tick_kind == b->tick_kind && !strncmp(a->boot_id, b->boot_id, BOOT_ID) &&
	       (a->tick_kind != PP_TICK_RAW || !strncmp(a->timens, b->timens, TIMENS));
}
