/* Carries the invitation by which the keepers of a job find each other: rank 0's keeper writes <spool>/invite (address and keys,
 * owner-only), one broadcast takes it to the other ranks, and one rank of each other keeper writes it into its own spool. Called
 * by coord_mpi.c inside MPI_Init. */
#pragma once

#include <stdint.h>

#include "core/source/services.h"
#include "mpi/abi.h"

struct pp_mpi_calls { /* the MPI library's own */
	__typeof__(&MPI_Comm_dup) dup;
	__typeof__(&MPI_Comm_free) free;
	__typeof__(&MPI_Comm_get_errhandler) get_errhandler;
	__typeof__(&MPI_Comm_set_errhandler) set_errhandler;
	__typeof__(&MPI_Errhandler_free) errhandler_free;
	__typeof__(&MPI_Comm_size) comm_size;
	__typeof__(&MPI_Query_thread) query_thread;
	__typeof__(&MPI_Allreduce) allreduce;
	__typeof__(&MPI_Bcast) bcast;
	__typeof__(&MPI_Iallreduce) iallreduce;
	__typeof__(&MPI_Test) test;
	struct pp_mpi_names of;
};

struct pp_invite {
	const struct podprof_collector *collector; /* NULL: this rank has no keeper */
	int rank;
	int64_t keeper; /* number of its keeper, different for each, on all hosts; 0: none */
	int is_first;   /* the lowest rank of its keeper */
};

/* Number of the keeper of this spool, different for each keeper of all hosts; 0: there is none. */
int64_t pp_invite_keeper(const char *spool);
/* Rank 0 waits up to a second for its keeper; then there is no invitation. 0, or -EIO: MPI failed. */
int pp_invite_all(const struct pp_invite *me, const struct pp_mpi_calls *mpi, MPI_Comm comm);
