/* What the wrappers know about one communicator, window or file. Made and released by pmpi_comm.c; the counters are changed by the
 * wrappers of any thread. */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum { PP_COMM_ANNOUNCED_NOTHING, PP_COMM_ANNOUNCED_MEMBERS, PP_COMM_ANNOUNCED_ALL };

enum pp_comm_kind { PP_COMM_IS_PLAIN, PP_COMM_IS_WINDOW, PP_COMM_IS_FILE };

struct pp_comm {                        /* memory stays a pp_comm for ever: a late reader of a freed one reads another one */
	_Atomic uint64_t key;           /* of its handle (mpi/abi.h) */
	_Atomic(struct pp_comm *) next; /* of its bucket */
	uint64_t id;
	_Atomic uint32_t sequence; /* collectives this rank has begun on it */
	/* receives, as mpi/pmpi_message.h counts them: posted so far; of any source or tag: pending, posted, ended so far, and not
	 * in the order in which they were posted; inside the call that posts them */
	_Atomic uint32_t posts, wild, wilds, wild_ended, wild_jumped, posting;
	_Atomic uint32_t announced; /* bits of its COMM records that were put */
	_Atomic uint32_t life;      /* changes when the memory gets another communicator */
	int32_t rank, size;         /* of this process; of the own group */
	int32_t peers;              /* number of ranks that "peer" may name: size, or the remote group's */
	int32_t inter;
	uint16_t flags;   /* flags of all its records: the side of an intercommunicator */
	int32_t *world;   /* world rank of each peer, -1 unknown; NULL: the same number */
	int32_t *members; /* as they go into the record and the id */
	int32_t member_count, capacity;
	struct pp_topo *topo; /* asked at the first use; NULL: not asked or none (mpi/pmpi_topo.h) */
	char name[64];
	enum pp_comm_kind kind;
	int32_t is_unknown;      /* PP_COMM_BY_NOBODY */
	int32_t to_file;         /* FILE: opened for writing */
	int32_t started, posted; /* WINDOW: world rank of the one member of the epoch's group, -1: none or more */
	char *path;              /* FILE: its name */
	size_t path_room;
};
