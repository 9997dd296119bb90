/* Communicators of a rank, found by id: a program may make and free hundreds of thousands. In: COMM records. Out: struct pp_comm.
 * Internal to aggregate/read. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/base/map.h"

struct pp_comm;

struct pp_comm_table {
	struct pp_comm *comm; /* in order of arrival; the caller frees it and the members */
	size_t comms, room;
	struct pp_map map; /* by id; the caller frees its places */
};

/* Finds the communicator of that id, or adds an empty one. NULL: no memory. Valid until the next one is added. */
struct pp_comm *pp_comm_table_put(struct pp_comm_table *t, uint64_t id);
