/* Where the wrappers' calls continue. In: the loaded objects. Out: the MPI library's functions and variables, and what comes behind
 * this library: another one's wrapper, else MPI's own function. Called by all of mpi/; any thread, errno kept. */
#pragma once

#include <stddef.h>

/* Where pointers to functions are held that were found by pp_mpi_real() or pp_mpi_next(). */
#define PP_MPI_FOUND __attribute__((section("pp_mpi_found")))

/* MPI begins: clears all of them if they are of an MPI library that was unloaded, with the plugin that brought it. */
void pp_mpi_renew(void);
/* The MPI library's own PMPI_X, whatever wraps it; NULL where there is none. */
void *pp_mpi_real(const char *symbol);
/* A variable of the MPI library; the executable's copy, where it has one. */
void *pp_mpi_object(const char *symbol);
/* The next MPI_X or PMPI_X behind this library, for calls from the object that `caller` lies in. It stays loaded. NULL: none. */
void *pp_mpi_next(const char *symbol, const void *caller);
/* Other libraries that wrap MPI, as they are known when MPI has begun: "libdarshan.so, libmpiP.so"; "" where there is none. */
void pp_mpi_wrappers(char *ret_names, size_t size);
