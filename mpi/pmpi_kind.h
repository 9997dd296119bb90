/* Windows and files share the table of communicators: one look-up, one cache, one sequence for all three. In: their handles, in
 * Open MPI pointers as a communicator's. Out: the key of mpi/pmpi_comm.h. */
#pragma once

#include <mpi.h>
#include <stdint.h>

static inline MPI_Comm pp_kind_handle(const void *handle)
{
	return (MPI_Comm)(uintptr_t)handle;
}
