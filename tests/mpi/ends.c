/* The last record of a process: MPI_Finalize, or MPI_Abort, which never comes back. Run by said.py; with an argument rank 1
 * aborts. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int rank, aborts = argc > 1;
	char path[1024];
	FILE *f;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	snprintf(path, sizeof path, "%s.%d", getenv("PP_WANT"), rank);
	f = fopen(path, "w");
	if (!f)
		return 1;
	fprintf(f, "MPI_Init -1 0 0\nMPI_Barrier -1 0 0\n");
	if (!aborts)
		fprintf(f, "MPI_Finalize -1 0 0\n");
	else if (rank == 1)
		fprintf(f, "MPI_Abort -1 0 0\n");
	if (aborts)
		fprintf(f, "exit 7\n");
	fclose(f);
	MPI_Barrier(MPI_COMM_WORLD);
	if (aborts && rank == 1)
		MPI_Abort(MPI_COMM_WORLD, 7);
	while (aborts) /* until mpirun kills this rank */
		sleep(1);
	MPI_Finalize();
	return 0;
}
