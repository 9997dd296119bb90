/* Empty messages by MPI_Sendrecv: 5 around the ring of all ranks, 3 along the line, whose ends send to or receive from nobody. Used
 * by tests/session/e2e_open.py. */
#include <mpi.h>

int main(int argc, char **argv)
{
	int rank, size;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int i = 0; i < 8; i++) {
		int to = i < 5 || rank + 1 < size ? (rank + 1) % size : MPI_PROC_NULL;
		int from = i < 5 || rank ? (rank + size - 1) % size : MPI_PROC_NULL;

		MPI_Sendrecv(NULL, 0, MPI_INT, to, 0, NULL, 0, MPI_INT, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
	MPI_Finalize();
	return 0;
}
