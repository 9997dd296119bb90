/* Preloaded behind libpodprof-mpi.so: the n-th call by podprof of one MPI function returns an error on one rank,
 * PP_FAULT=FUNCTION:RANK:N. podprof finds the functions by dlsym(). Blocking collectives are carried out all the same, for a rank
 * that stays away from them hangs any job. */
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

	if (!rank)
		rank = getenv("PMI_RANK");
	if (!fault || !rank || sscanf(fault, "%63[^:]:%d:%d", function, &at, &n) != 3 || strcmp(function, name))
		return 0;
	return at == (int)strtol(rank, NULL, 10) && ++*calls == n;
}

static void *real_dlsym(void *handle, const char *name)
{
	static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5"};
	static void *(*real)(void *, const char *);

	for (unsigned i = 0; !real && i < sizeof versions / sizeof versions[0]; i++)
		real = (__typeof__(real))dlvsym(RTLD_NEXT, "dlsym", versions[i]);
	return real(handle, name);
}

#define FAULT(symbol, params, args, first)                                                                                         \
	static int fault_##symbol params                                                                                           \
	{                                                                                                                          \
		static __typeof__(&PMPI_##symbol) real;                                                                            \
		static int calls;                                                                                                  \
		int struck, rc = MPI_SUCCESS;                                                                                      \
		if (!real)                                                                                                         \
			real = (__typeof__(&PMPI_##symbol))real_dlsym(RTLD_NEXT, "PMPI_" #symbol);                                 \
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

void *dlsym(void *restrict handle, const char *restrict name)
{
	static const struct {
		const char *name;
		void *fault;
	} ours[] = {
#define OURS(symbol) {"PMPI_" #symbol, (void *)fault_##symbol}
	        OURS(Comm_dup),
	        OURS(Comm_free),
	        OURS(Comm_size),
	        OURS(Comm_get_errhandler),
	        OURS(Comm_set_errhandler),
	        OURS(Errhandler_free),
	        OURS(Query_thread),
	        OURS(Allreduce),
	        OURS(Bcast),
	        OURS(Iallreduce),
	        OURS(Test),
	};

	for (unsigned i = 0; i < sizeof ours / sizeof ours[0]; i++)
		if (!strcmp(name, ours[i].name))
			return ours[i].fault;
	return real_dlsym(handle, name);
}
