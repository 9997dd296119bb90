/* Communicators of a rank, found by id: a program may make and free hundreds of thousands. In: COMM records. Out: struct pp_comm.
 * Internal to aggregate/read. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct pp_comm;

struct pp_comm_table {
	struct pp_comm *comm; /* in order of arrival; the caller frees it and the members */
	size_t comms, room;
	uint32_t *place; /* index + 1 of a communicator; 0: empty. Made by the first pp_comm_table_put() */
	size_t places;
};

/* Finds the communicator of that id, or adds an empty one. NULL: no memory. Valid until the next one is added. */
struct pp_comm *pp_comm_table_put(struct pp_comm_table *t, uint64_t id);
