/* The last record of a process: MPI_Finalize, or MPI_Abort, which never comes back. Run by said.py; with an argument rank 1
 * aborts. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* A rank that is in the barrier still when it is killed has no record of it. */
static void rendezvous(int rank, int ranks)
{
	char path[1024];

	snprintf(path, sizeof path, "%s.past%d", getenv("PP_WANT"), rank);
	if (rank != 1)
		close(open(path, O_CREAT | O_WRONLY, 0600));
	for (int i = 0; rank == 1 && i < ranks; i++) {
		snprintf(path, sizeof path, "%s.past%d", getenv("PP_WANT"), i);
		for (int k = 0; i != 1 && unlink(path) && k < 10000; k++)
			usleep(1000);
	}
}

int main(int argc, char **argv)
{
	int rank, ranks, aborts = argc > 1;
	char path[1024];
	FILE *f;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
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
	if (aborts)
		rendezvous(rank, ranks);
	if (aborts && rank == 1)
		MPI_Abort(MPI_COMM_WORLD, 7);
	while (aborts) /* until mpirun kills this rank */
		sleep(1);
	MPI_Finalize();
	return 0;
}
