/* Launches by their content; see launch_table.h. Called by the readers of rings, XSpace and Kineto. */
#include "aggregate/read/launch_table.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/grow.h"
#include "core/base/hash.h"
#include "core/base/map.h"
#include "core/capture/side.h"

static uint64_t hash(const void *row)
{
	return pp_hash(PP_HASH_BEGIN, row, sizeof(struct pp_launch));
}

static int is_same(const void *row, const void *key)
{
	/* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): it has no padding, and its only float no two zeros */
	return !memcmp(row, key, sizeof(struct pp_launch));
}

uint32_t pp_launch_put(struct pp_launch_table *t, const struct pp_launch *launch)
{
	uint32_t *place = pp_map_place(&t->map, t->launch, t->launches, sizeof(*launch), launch, hash, is_same);

	if (!place || *place)
		return place ? *place : 0;
	if (PP_GROW(t->launch, t->launches, t->room))
		return 0;
	t->launch[t->launches++] = *launch;
	*place = (uint32_t)t->launches;
	return *place;
}

void pp_launch_release(struct pp_launch_table *t)
{
	free(t->launch);
	free(t->map.place);
	*t = (struct pp_launch_table){0};
}
