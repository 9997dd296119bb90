/* What e2e_mpi.py runs under podprof: some ranks make a call of MPI 4 for large counts, others the one without _c. It asks for
 * it by a weak reference, as mpi4py's wheels do. Built as users' programs are, and with -DHAS_LARGE as the library of an MPI that
 * has the call. */
#include <mpi.h>
#include <stdio.h>

int MPI_Allreduce_c(const void *from, void *to, MPI_Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm);
int MPI_Send_c(const void *from, MPI_Count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm);

#ifdef HAS_LARGE
int PMPI_Allreduce_c(const void *from, void *to, MPI_Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
	return PMPI_Allreduce(from, to, (int)count, type, op, comm);
}

int PMPI_Send_c(const void *from, MPI_Count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm)
{
	return PMPI_Send(from, (int)count, type, dest, tag, comm);
}

extern __typeof__(MPI_Allreduce_c) MPI_Allreduce_c __attribute__((alias("PMPI_Allreduce_c")));
extern __typeof__(MPI_Send_c) MPI_Send_c __attribute__((alias("PMPI_Send_c")));
#else
#pragma weak MPI_Allreduce_c
#pragma weak MPI_Send_c

int main(int argc, char **argv)
{
	int me, sum = 0, has_large = MPI_Allreduce_c != NULL;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	for (int i = 0; i < 4; i++) {
		if (has_large && (me + i) % 2)
			MPI_Allreduce_c(&me, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
		else
			MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	}
	if (me == 0 && has_large)
		MPI_Send_c(&me, 1, MPI_INT, 1, 5, MPI_COMM_WORLD);
	else if (me == 0)
		MPI_Send(&me, 1, MPI_INT, 1, 5, MPI_COMM_WORLD);
	else if (me == 1)
		MPI_Recv(&sum, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Finalize();
	printf("large %d\n", has_large);
	return 0;
}
#endif
