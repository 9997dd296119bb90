/* Calls of MPI 4 that the wrappers define and that the mpi.h of the build may lack: sessions, and the forms for large counts.
 * Declared by both names, by the rows of the tables, with the contracts of MPI's own. */
#pragma once

#include "mpi/abi.h"

#define PP_MPI(symbol, class, nonblocking, family, params, ...) int MPI_##symbol params, PMPI_##symbol params;
#include "core/call/mpi_session.def"
#undef PP_MPI
#define PP_MPI_LARGE(symbol, of, family, params, ...) int MPI_##symbol params, PMPI_##symbol params;
#include "mpi/pmpi_large.def"
#undef PP_MPI_LARGE
