/* The rings of a spool as rings.c, finish.c, cut.c and ring_losses.c have them. Internal to aggregate/read. */
#pragma once

#include "aggregate/read/ring/track.h"
#include "core/ring/drain.h"

struct pp_ring {
	char *path;
	struct pp_drain *drain;
	int is_own; /* closes its drain: in tests */
	struct pp_pair pair;
	uint64_t lost_before[PP_LOSSES], records_before; /* of windows that are closed */
};

struct pp_rings {
	struct pp_read_shared shared;
	struct pp_ring **ring;
	size_t rings;
	int flags; /* enum pp_drain_flags */
};
