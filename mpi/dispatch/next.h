/* Where the wrappers' calls continue. In: the loaded objects. Out: the MPI library's functions and variables, and what comes
 * behind this library: another one's wrapper, else MPI's own function. Called by all of mpi/; any thread, errno kept. */
#pragma once

#include <stddef.h>

#include "mpi/dispatch/shared.h"

/* The MPI library's own PMPI_X, whatever wraps it; NULL where there is none. */
void *pp_mpi_real(const char *symbol) PP_SHARED(real);
/* A variable of the MPI library; the executable's copy, where it has one. */
void *pp_mpi_object(const char *symbol) PP_SHARED(variable);
/* The next MPI_X or PMPI_X behind this library, for calls from the object that `caller` lies in. It stays loaded. NULL: none. */
void *pp_mpi_next(const char *symbol, const void *caller) PP_SHARED(next);
/* Other libraries that wrap MPI, as they are known when MPI has begun: "libdarshan.so, libmpiP.so"; "" where there is none. */
void pp_mpi_wrappers(char *ret_names, size_t size) PP_SHARED(wrappers);
