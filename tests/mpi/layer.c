/* Another library that wraps MPI, as layers.py places it. It changes what the program computes, so that nobody can leave it out
 * unseen: sums grow by a half, each communicator has ten times its ranks. At its end it writes $PP_LAYER.RANK. It continues by
 * PMPI_X; LAYER_NEXT: by the next MPI_X of dlsym(); LAYER_BOTH: it has both names, as Darshan does, and continues by the next
 * PMPI_X; LAYER_LARGE: it wraps a call of MPI 4, too. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#if defined(LAYER_NEXT)
#define REAL(symbol) ((__typeof__(&MPI_##symbol))dlsym(RTLD_NEXT, "MPI_" #symbol))
#elif defined(LAYER_BOTH)
#define REAL(symbol) ((__typeof__(&MPI_##symbol))dlsym(RTLD_NEXT, "PMPI_" #symbol))
#else
#define REAL(symbol) PMPI_##symbol
#endif

#ifdef LAYER_LARGE /* mpi.h may lack it */
int PMPI_Allreduce_c(const void *in, void *out, MPI_Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm);
#endif

#define VISIBLE __attribute__((visibility("default")))
#ifdef LAYER_BOTH
#define ENTRY(symbol, params)                                                                                                      \
	extern VISIBLE __typeof__(MPI_##symbol) PMPI_##symbol __attribute__((alias("MPI_" #symbol)));                              \
	VISIBLE int MPI_##symbol params
#else
#define ENTRY(symbol, params) VISIBLE int MPI_##symbol params
#endif

static int rank, calls;
static char marks[256] = "none";

/* Its own traffic, inside of its MPI_Init and MPI_Finalize. */
static int total(int value)
{
	int sum = 0;

	REAL(Reduce)(&value, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
	return sum;
}

ENTRY(Init, (int *argc, char ***argv))
{
	int rc = REAL(Init)(argc, argv);

	PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
	total(1);
	return rc;
}

ENTRY(Init_thread, (int *argc, char ***argv, int required, int *provided))
{
	int rc = REAL(Init_thread)(argc, argv, required, provided);

	PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
	total(1);
	return rc;
}

ENTRY(Finalize, (void))
{
	const char *name = getenv("PP_LAYER");
	int all = total(calls);
	char path[4096];
	FILE *f;

	snprintf(path, sizeof path, "%s.%d", name ? name : "layer", rank);
	f = fopen(path, "w");
	if (f) {
		fprintf(f, "%d calls, of all %d, marks %s\n", calls, all, marks);
		fclose(f);
	}
	return REAL(Finalize)();
}

ENTRY(Comm_size, (MPI_Comm comm, int *size))
{
	int rc = REAL(Comm_size)(comm, size);

	*size *= 10;
	return rc;
}

ENTRY(Allreduce, (const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm))
{
	int rc = REAL(Allreduce)(in, out, count, type, op, comm);

	calls++;
	if (type == MPI_DOUBLE)
		*(double *)out += 0.5;
	return rc;
}

/* Nothing is left to do behind the call: the compiler makes it a jump. */
ENTRY(Bcast, (void *data, int count, MPI_Datatype type, int root, MPI_Comm comm))
{
	calls++;
	return REAL(Bcast)(data, count, type, root, comm);
}

/* Calls another one that it wraps. */
ENTRY(Scan, (const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm))
{
	double sum = 0;

	calls++;
	MPI_Allreduce(in, &sum, 1, MPI_DOUBLE, MPI_SUM, comm);
	return REAL(Scan)(in, out, count, type, op, comm);
}

ENTRY(Pcontrol, (const int level, ...))
{
	va_list rest;
	const char *text;
	double number;
	int sum = 0;

	if (level != 7)
		return MPI_SUCCESS;
	va_start(rest, level);
	text = va_arg(rest, const char *);
	number = va_arg(rest, double);
	for (int i = 0; i < 8; i++) /* more than registers hold */
		sum = 3 * sum + va_arg(rest, int);
	va_end(rest);
	snprintf(marks, sizeof marks, "%s %g %d", text, number, sum);
	return REAL(Pcontrol)(level);
}

#ifdef LAYER_LARGE
ENTRY(Allreduce_c, (const void *in, void *out, MPI_Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm))
{
	int rc = REAL(Allreduce_c)(in, out, count, type, op, comm);

	calls++;
	*(double *)out += 0.75;
	return rc;
}
#endif
