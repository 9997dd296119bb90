/* Preloaded behind libpodprof-mpi.so: the n-th call of one MPI function returns an error on one rank,
 * PP_FAULT=FUNCTION:RANK:N. Blocking collectives are carried out all the same, for a rank that stays away from them hangs any
 * job. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int strikes(const char *name, int *calls)
{
	const char *fault = getenv("PP_FAULT"), *rank = getenv("OMPI_COMM_WORLD_RANK");
	char function[64];
	int at, n;

	if (!fault || !rank || sscanf(fault, "%63[^:]:%d:%d", function, &at, &n) != 3 || strcmp(function, name))
		return 0;
	return at == (int)strtol(rank, NULL, 10) && ++*calls == n;
}

#define FAULT(symbol, params, args, first)                                                                                         \
	int PMPI_##symbol params                                                                                                   \
	{                                                                                                                          \
		static __typeof__(&PMPI_##symbol) real;                                                                            \
		static int calls;                                                                                                  \
		int struck, rc = MPI_SUCCESS;                                                                                      \
		if (!real)                                                                                                         \
			real = (__typeof__(&PMPI_##symbol))dlsym(RTLD_NEXT, "PMPI_" #symbol);                                      \
		struck = strikes(#symbol, &calls);                                                                                 \
		if (!struck || (first))                                                                                            \
			rc = real args;                                                                                            \
		return struck ? MPI_ERR_OTHER : rc;                                                                                \
	}

FAULT(Comm_dup, (MPI_Comm comm, MPI_Comm *made), (comm, made), 1)
FAULT(Comm_free, (MPI_Comm * comm), (comm), 0)
FAULT(Comm_size, (MPI_Comm comm, int *size), (comm, size), 1)
FAULT(Comm_get_errhandler, (MPI_Comm comm, MPI_Errhandler *handler), (comm, handler), 0)
FAULT(Comm_set_errhandler, (MPI_Comm comm, MPI_Errhandler handler), (comm, handler), 0)
FAULT(Errhandler_free, (MPI_Errhandler * handler), (handler), 0)
FAULT(Query_thread, (int *level), (level), 0)
FAULT(Allreduce, (const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
      (in, out, count, type, op, comm), 1)
FAULT(Bcast, (void *data, int count, MPI_Datatype type, int root, MPI_Comm comm), (data, count, type, root, comm), 1)
FAULT(Iallreduce, (const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm, MPI_Request *request),
      (in, out, count, type, op, comm, request), 0)
FAULT(Test, (MPI_Request * request, int *done, MPI_Status *status), (request, done, status), 0)
