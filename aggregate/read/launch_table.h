/* How a rank's kernels were launched, each combination once. In: launches from readers. Out: pp_rank.launch. Internal to
 * aggregate/read. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/base/map.h"

struct pp_launch;

struct pp_launch_table {
	struct pp_launch *launch; /* [launches] */
	size_t launches, room;
	struct pp_map map; /* of them */
};

/* Index + 1 of an equal launch, which is added if it is new; 0: no memory. */
uint32_t pp_launch_put(struct pp_launch_table *t, const struct pp_launch *launch);
/* Frees the places, and the launches unless the caller took them and set the member to NULL. */
void pp_launch_release(struct pp_launch_table *t);
