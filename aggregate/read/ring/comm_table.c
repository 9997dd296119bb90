/* Open-addressed index over an array of communicators. Called by mpi.c. */
#include "aggregate/read/ring/comm_table.h"

#include <stdlib.h>

#include "core/capture/side.h"

static uint32_t *place_of(const struct pp_comm_table *t, uint64_t id)
{
	size_t at = (size_t)((id * 0x9e3779b97f4a7c15u) >> 32) & (t->places - 1);

	while (t->place[at] && t->comm[t->place[at] - 1].id != id)
		at = (at + 1) & (t->places - 1);
	return &t->place[at];
}

static int grow(struct pp_comm_table *t)
{
	size_t places = t->places ? t->places : 16, room = t->room ? t->room : 8;
	struct pp_comm *comm = t->comm;
	uint32_t *place;

	while (2 * (t->comms + 1) > places)
		places *= 2;
	while (t->comms + 1 > room)
		room *= 2;
	if (room != t->room && !(comm = realloc(t->comm, room * sizeof(*comm))))
		return -1;
	t->comm = comm;
	t->room = room;
	if (places == t->places)
		return 0;
	place = calloc(places, sizeof(*place));
	if (!place)
		return -1;
	free(t->place);
	t->place = place;
	t->places = places;
	for (size_t i = 0; i < t->comms; i++)
		*place_of(t, t->comm[i].id) = (uint32_t)i + 1;
	return 0;
}

struct pp_comm *pp_comm_table_put(struct pp_comm_table *t, uint64_t id)
{
	uint32_t *place;

	if ((2 * (t->comms + 1) > t->places || t->comms + 1 > t->room) && grow(t) < 0)
		return NULL;
	place = place_of(t, id);
	if (!*place) {
		t->comm[t->comms] = (struct pp_comm){.id = id};
		*place = (uint32_t)++t->comms;
	}
	return &t->comm[*place - 1];
}
