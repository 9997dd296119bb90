/* A program of MPI 4's sessions, without MPI_Init, and of its large counts; built by other_mpi.py. Each rank prints a sum. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { ROUNDS = 5 };

static MPI_Comm comm_of(MPI_Group group, const char *tag)
{
	MPI_Comm comm;

	MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
	return comm;
}

/* All ranks; the even and the odd ones. */
static int work(MPI_Session session)
{
	MPI_Group all, half;
	MPI_Comm comm, halves;
	int rank, size, count = 0, members[64], sum = 0, part = 0, total = 0;

	MPI_Group_from_session_pset(session, "mpi://WORLD", &all);
	comm = comm_of(all, "podprof://all");
	MPI_Comm_rank(comm, &rank);
	MPI_Comm_size(comm, &size);
	for (int r = rank % 2; r < size; r += 2)
		members[count++] = r;
	MPI_Group_incl(all, count, members, &half);
	halves = comm_of(half, "podprof://half");
	for (int i = 0; i < ROUNDS; i++) {
		if (rank == size - 1)
			usleep(20000);
		MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
		MPI_Allreduce(&rank, &part, 1, MPI_INT, MPI_SUM, halves);
		total += sum + part;
	}
	if (rank == 0)
		MPI_Send(&rank, 1, MPI_INT, size - 1, 7, comm);
	if (rank == size - 1)
		MPI_Recv(&sum, 1, MPI_INT, 0, 7, comm, MPI_STATUS_IGNORE);
	MPI_Comm_free(&halves);
	MPI_Comm_free(&comm);
	MPI_Group_free(&half);
	MPI_Group_free(&all);
	return total;
}

#ifdef HAS_LARGE
static int large(void)
{
	int rank, size, sum, total = 0, data[16] = {0};
	MPI_Request request;

	MPI_Init(NULL, NULL);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int i = 0; i < ROUNDS; i++) {
		MPI_Allreduce_c(&rank, &sum, (MPI_Count)1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
		total += sum;
	}
	MPI_Isend_c(&rank, (MPI_Count)1, MPI_INT, (rank + 1) % size, 7, MPI_COMM_WORLD, &request);
	MPI_Recv_c(data, (MPI_Count)16, MPI_INT, (rank + size - 1) % size, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	MPI_Finalize();
	return total + data[0];
}
#endif

/* once; two sessions at one time; both a session and MPI_Init. Open MPI 5.0 itself fails where a session begins after all have
 * ended. */
int main(int argc, char **argv)
{
	int two = argc > 1 && !strcmp(argv[1], "two"), both = argc > 1 && !strcmp(argv[1], "both");
	MPI_Session session, other;
	int total, one;

#ifdef HAS_LARGE
	printf("total %d\n", large());
	return 0;
#endif
	MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
	if (two)
		MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &other);
	if (both)
		MPI_Init(&argc, &argv);
	total = work(session);
	if (both) {
		MPI_Allreduce(&total, &one, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
		MPI_Finalize();
	}
	MPI_Session_finalize(&session);
	if (two) {
		total += work(other);
		MPI_Session_finalize(&other);
	}
	printf("total %d\n", total);
	return 0;
}
