/* Any MPI, with podprof's libraries preloaded: results, handles and errors as without. For MPICH, and where the guest says no. */
#include <dlfcn.h>
#include <errno.h>
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	int me, n, sum = 0, in = -1, flag, bad = 0;
	MPI_Request r[2];
	MPI_Status st[2];
	MPI_Comm half, dup;

	bad |= dlerror() != NULL;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &n);
	errno = 42;
	MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	bad |= sum != n * (n - 1) / 2;
	MPI_Comm_split(MPI_COMM_WORLD, me % 2, me, &half);
	MPI_Comm_dup(half, &dup);
	MPI_Comm_set_name(dup, "dup");
	for (int i = 0; i < 100; i++) {
		MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, i, MPI_COMM_WORLD, &r[0]);
		MPI_Isend(&me, 1, MPI_INT, (me + 1) % n, i, MPI_COMM_WORLD, &r[1]);
		MPI_Waitall(2, r, i % 2 ? MPI_STATUSES_IGNORE : st);
		bad |= in != (me + n - 1) % n || r[0] != MPI_REQUEST_NULL;
		bad |= i % 2 == 0 && st[0].MPI_SOURCE != in;
		MPI_Bcast(&sum, 1, MPI_INT, 0, dup);
	}
	do
		MPI_Iprobe(MPI_ANY_SOURCE, 999, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
	while (flag);
	MPI_Comm_free(&dup);
	MPI_Comm_free(&half);
	bad |= half != MPI_COMM_NULL;
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	bad |= MPI_Send(&me, 1, MPI_INT, n + 3, 0, MPI_COMM_WORLD) == MPI_SUCCESS;
	bad |= !dlsym(RTLD_DEFAULT, "PMPI_Send");
	printf("rank %d %s\n", me, bad ? "bad" : "good");
	MPI_Finalize();
	return bad;
}
