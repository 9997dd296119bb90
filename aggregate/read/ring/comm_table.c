/* Open-addressed index over an array of communicators. Called by mpi.c. */
#include "aggregate/read/ring/comm_table.h"

#include "core/base/grow.h"
#include "core/capture/side.h"

static uint64_t hash(const void *row)
{
	return ((const struct pp_comm *)row)->id * PP_MAP_MIX;
}

static int is_same(const void *row, const void *key)
{
	return ((const struct pp_comm *)row)->id == ((const struct pp_comm *)key)->id;
}

struct pp_comm *pp_comm_table_put(struct pp_comm_table *t, uint64_t id)
{
	const struct pp_comm key = {.id = id};
	uint32_t *place = pp_map_place(&t->map, t->comm, t->comms, sizeof(key), &key, hash, is_same);

	if (!place)
		return NULL;
	if (!*place) {
		if (PP_GROW(t->comm, t->comms, t->room))
			return NULL;
		t->comm[t->comms] = key;
		*place = (uint32_t)++t->comms;
	}
	return &t->comm[*place - 1];
}
