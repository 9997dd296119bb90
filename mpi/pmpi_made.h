/* What a wrapped call does with the communicator it made. */
#ifndef PP_PMPI_MADE_H
#define PP_PMPI_MADE_H

#include "mpi/pmpi_source.h"

/* NULL: this rank got none, or there was no memory. */
static inline struct pp_comm *pp_mpi_made(const struct pp_mpi_scope *scope, MPI_Comm handle)
{
	struct pp_comm *c;

	if (!handle || handle == pp_mpi_names.comm_null)
		return NULL;
	c = pp_comm_add(handle, PP_COMM_MADE);
	if (c && scope->recording)
		pp_comm_announce(c);
	return c;
}

#endif
