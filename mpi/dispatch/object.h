/* What an object of wrappers and the dispatcher know of each other. An object is the wrappers compiled for one ABI of MPI
 * (libpodprof-mpi-ompi.so, -mpich.so, -abi.so), and exports this table alone. Both must be of one build. */
#pragma once

#include <stdint.h>

#define PP_MPI_OBJECT "podprof_mpi_object"

/* Rows of the table of calls: the numbers of exported names. Entry 0 is of MPI_X, 1 of PMPI_X. */
enum pp_dispatch_row {
#define PP_MPI(symbol, ...) PP_DISPATCH_##symbol,
#include "core/call/mpi_call.def"
#undef PP_MPI
	PP_DISPATCH_ROWS
};

struct pp_mpi_object {
	char version[32];    /* PODPROF_VERSION */
	uint32_t size, rows; /* of this struct; PP_DISPATCH_ROWS */
	void (*start)(void); /* it was chosen: calls that are not exported go to it, too */
	void (*renew)(void); /* the MPI library that it was used with is gone: pointers into it are void */
	void *entry[PP_DISPATCH_ROWS][2];
};
