/* The id of a communicator, made of its members and of how it came about, so that all members make the same one. In: world ranks.
 * Out: 64 bits. Used by mpi/ for the records, and by `podprof status`, which names the communicators that MPI itself makes. */
#pragma once

#include <stdint.h>

#include "core/base/hash.h"

enum { PP_COMM_NAME_WORLD = 1, PP_COMM_NAME_SELF, PP_COMM_NAME_PARENT };

static inline uint64_t pp_comm_id_mix(uint64_t x)
{
	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9u;
	x ^= x >> 27;
	x *= 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

/* Adds a member; begin with the seed plus the number of members. */
static inline uint64_t pp_comm_id_member(uint64_t id, int32_t member)
{
	return pp_comm_id_mix(id * 31 + (uint32_t)member + 1);
}

/* how: enum pp_comm_by, kind: enum pp_comm_kind of mpi/pmpi_comm.h. */
static inline uint64_t pp_comm_id_seed(uint64_t from, int how, int kind, uint32_t number, int inter)
{
	return pp_comm_id_mix(pp_comm_id_mix(from) + ((uint64_t)how << 40 | (uint64_t)kind << 32 | number) + 1) + (inter ? 2 : 1);
}

static inline uint64_t pp_comm_id_end(uint64_t id)
{
	id = pp_comm_id_mix(id);
	return id + !id;
}

/* Of MPI_COMM_WORLD and MPI_COMM_SELF: `count` members that begin with `first`. */
static inline uint64_t pp_comm_id_named(uint32_t name, int32_t first, int32_t count)
{
	uint64_t id = pp_comm_id_seed(0, 0, 0, name, 0) + (uint64_t)count;

	for (int32_t i = 0; i < count; i++)
		id = pp_comm_id_member(id, first + i);
	return pp_comm_id_end(id);
}

/* Of a communicator of NCCL, by NCCL's own hash of it, which all its ranks have. */
static inline uint64_t pp_comm_id_nccl(uint64_t hash)
{
	return pp_hash(pp_hash(PP_HASH_BEGIN, "nccl", 4), &hash, sizeof(hash)) | 1;
}
