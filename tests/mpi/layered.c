/* The program of layers.py: it prints what MPI and the library that wraps it have computed. It is built as a program and as a
 * plugin, whose main is zoo_main(). */
#include <mpi.h>
#include <stdio.h>

#ifdef LAYER_LARGE /* mpi.h may lack it */
int MPI_Allreduce_c(const void *in, void *out, MPI_Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm);
#else
#define MPI_Allreduce_c(...)
#endif

#ifdef AS_PLUGIN
int zoo_main(int argc, char **argv);
#define main zoo_main
#endif

int main(int argc, char **argv)
{
	double one = 1, sum = 0, by_pmpi = 0, prefix = 0, large = 0, got;
	int rank, size;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	PMPI_Allreduce(&one, &by_pmpi, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	got = rank ? 0 : 4;
	MPI_Bcast(&got, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	MPI_Scan(&one, &prefix, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	MPI_Allreduce_c(&one, &large, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	MPI_Pcontrol(7, "region", 2.5, 1, 2, 3, 4, 5, 6, 7, 8);
	printf("rank %d of %d: sum %g, by PMPI %g, got %g, prefix %g, large %g\n", rank, size, sum, by_pmpi, got, prefix, large);
	fflush(stdout);
	MPI_Finalize();
	return 0;
}
