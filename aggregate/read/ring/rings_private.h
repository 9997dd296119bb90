/* What rings.c, finish.c and cut.c share. Internal to aggregate/read. */
#pragma once

#include "aggregate/read/ring/pair.h"

struct pp_ring {
	char *path;
	struct pp_drain *drain;
	struct pp_pair pair;
	uint64_t lost_before[PP_LOSSES], records_before; /* of windows that are closed */
};

struct pp_rings {
	struct pp_read_shared shared;
	struct pp_ring **ring;
	size_t rings;
	int flags; /* enum pp_drain_flags */
};

/* Losses of the ring since it was opened, by cause. */
void pp_ring_losses(const struct pp_ring *ring, uint64_t lost[PP_LOSSES]);
