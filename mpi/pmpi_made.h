/* Registers the communicator that a wrapped call made, and chooses what its id is made of. */
#pragma once

#include "core/base/hash.h"
#include "mpi/pmpi_source.h"

static inline struct pp_comm_birth pp_mpi_birth(const struct pp_mpi_scope *scope, int tag)
{
	struct pp_comm_birth b = {.by = PP_COMM_BY_SEQUENCE,
	                          .from = scope->comm ? scope->comm->id : 0,
	                          .number = (uint32_t)tag,
	                          .sequence = scope->sequence};

	switch (scope->call) {
	case PP_MPI_CALL_Comm_create_group:
		b.by = PP_COMM_BY_TAG;
		break;
	case PP_MPI_CALL_Intercomm_create:
	case PP_MPI_CALL_Comm_accept:
	case PP_MPI_CALL_Comm_connect:
	case PP_MPI_CALL_Comm_join:
		b.by = PP_COMM_BY_RENDEZVOUS;
		break;
	default:
		break;
	}
	if (!scope->comm && b.by != PP_COMM_BY_RENDEZVOUS)
		b.by = PP_COMM_BY_NOBODY;
	return b;
}

/* tag: of the call, -1 without one. NULL: this rank got none, or there is no memory. */
static inline struct pp_comm *pp_mpi_made(const struct pp_mpi_scope *scope, MPI_Comm handle, int tag)
{
	struct pp_comm_birth birth = pp_mpi_birth(scope, tag);
	struct pp_comm *c;

	if (!pp_comm_is_one(handle))
		return NULL;
	c = pp_comm_add(handle, &birth);
	if (c && scope->recording)
		pp_comm_announce(c);
	return c;
}

/* The same for a communicator made from groups, without another one: its members know the tag, and the n-th with it. */
static inline struct pp_comm *pp_mpi_made_from_groups(const struct pp_mpi_scope *scope, MPI_Comm handle, const char *tag)
{
	struct pp_comm_birth birth = {.by = PP_COMM_BY_TAG, .number = (uint32_t)pp_hash_text(tag)};
	struct pp_comm *c;

	if (!pp_comm_is_one(handle))
		return NULL;
	c = pp_comm_add(handle, &birth);
	if (c)
		pp_comm_set_name(c, tag);
	if (c && scope->recording)
		pp_comm_announce(c);
	return c;
}
