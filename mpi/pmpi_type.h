/* Bytes of the arguments of a call, and the macros by which core/call/mpi_call.def computes what a rank sends and receives. In:
 * counts and datatypes, after the call succeeded. Out: `sent` and `received` of a record. */
#pragma once

#include "mpi/pmpi_source.h"

enum { PP_TYPE_SLOTS = 128 };

/* Handle of a predefined datatype << 16 | size + 2; a low word of 1: a derived one, asked every time. Predefined types never
 * change, and no derived one has their handle, so no entry is ever wrong. */
extern _Atomic uint64_t pp_type_cache[PP_TYPE_SLOTS] __attribute__((visibility("hidden")));

/* Bytes of one element, asked of MPI; enters it into the cache. 0 where MPI fails. */
uint64_t pp_type_size_slow(MPI_Datatype type);

/* Of the handle, at most 48: of an address, or of a number. */
static inline uint64_t pp_type_bits(MPI_Datatype type)
{
	return PP_KEY(type) & (((uint64_t)1 << 48) - 1);
}

static inline _Atomic uint64_t *pp_type_slot(MPI_Datatype type)
{
	uint64_t bits = pp_type_bits(type);

	return &pp_type_cache[(bits ^ bits >> 4 ^ bits >> 9) % PP_TYPE_SLOTS];
}

static inline uint64_t pp_type_size(MPI_Datatype type)
{
	uint64_t e = atomic_load_explicit(pp_type_slot(type), memory_order_relaxed);

	if (__builtin_expect(e >> 16 == pp_type_bits(type) && (e & 0xffff) > 1, 1))
		return (e & 0xffff) - 2;
	return pp_type_size_slow(type);
}

static inline uint64_t pp_bytes(MPI_Count count, MPI_Datatype type)
{
	return count > 0 ? (uint64_t)count * pp_type_size(type) : 0;
}

struct pp_counts { /* an array of int or of MPI_Count */
	const void *at;
	int is_large;
};

#define PP_COUNTS(counts) ((struct pp_counts){(counts), sizeof *(counts) != sizeof(int)})

static inline MPI_Count pp_count(struct pp_counts counts, int i)
{
	return counts.is_large ? ((const MPI_Count *)counts.at)[i] : ((const int *)counts.at)[i];
}

/* n counts of one type; or each with its own type. */
uint64_t pp_bytes_v(struct pp_counts counts, int n, MPI_Datatype type);
uint64_t pp_bytes_w(struct pp_counts counts, int n, const MPI_Datatype *types);

/* The same for received bytes; also records from how many of the other ranks: all, some or none. step 1: `types`
 * has one for each; 0: one for all. */
uint64_t pp_bytes_from(struct pp_mpi_scope *s, struct pp_counts counts, const MPI_Datatype *types, int step);

/* Role of a rank in a rooted collective: the root, one that sends to or receives from it, or (intercommunicators) none. */
enum pp_role { PP_ROLE_LEAF, PP_ROLE_ROOT, PP_ROLE_NONE };

static inline enum pp_role pp_role(const struct pp_comm *c, int root)
{
	if (root == MPI_PROC_NULL)
		return PP_ROLE_NONE;
	return (c->inter ? root == MPI_ROOT : root == c->rank) ? PP_ROLE_ROOT : PP_ROLE_LEAF;
}

/* Macros for the table; `scope`, `role`, sendbuf and recvbuf are the wrapper's. */
#define PP_ME (scope.comm->rank)
#define PP_EACH (scope.comm->peers)
#define PP_OURS (scope.comm->size)
#define PP_IF_ROOT(bytes) (role == PP_ROLE_ROOT ? (bytes) : 0)
#define PP_IF_LEAF(bytes) (role == PP_ROLE_LEAF ? (bytes) : 0)
/* the root of an intercommunicator has no part in the data of its own side */
#define PP_IF_MEMBER(bytes) (role == PP_ROLE_NONE || (role == PP_ROLE_ROOT && scope.comm->inter) ? 0 : (bytes))
/* with MPI_IN_PLACE, counts and types of the other buffer apply */
#define PP_SENT(in_place) (sendbuf == MPI_IN_PLACE ? (in_place) : pp_bytes(sendcount, sendtype))
#define PP_SENT_V(in_place) (sendbuf == MPI_IN_PLACE ? (in_place) : pp_bytes_v(PP_COUNTS(sendcounts), PP_EACH, sendtype))
#define PP_SENT_W(in_place) (sendbuf == MPI_IN_PLACE ? (in_place) : pp_bytes_w(PP_COUNTS(sendcounts), PP_EACH, sendtypes))
#define PP_FROM_V pp_bytes_from(&scope, PP_COUNTS(recvcounts), &recvtype, 0)
#define PP_FROM_W pp_bytes_from(&scope, PP_COUNTS(recvcounts), recvtypes, 1)
#define PP_GOT(in_place) (recvbuf == MPI_IN_PLACE ? (in_place) : pp_bytes(recvcount, recvtype))
