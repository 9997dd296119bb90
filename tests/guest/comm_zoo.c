/* Many kinds of communicators and calls, each result checked. As a program, and as a library that rtld_local.c loads the way
 * mpi4py's wheel does (zoo_main). Run by guest_table.py. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int zoo_main(int argc, char **argv);

static int rank, size;

static void expect(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "rank %d: wrong result: %s\n", rank, what);
	MPI_Abort(MPI_COMM_WORLD, 8);
}

static void sum_over(MPI_Comm comm, const char *what)
{
	int members = 0, one = 1, sum = 0;
	MPI_Comm_size(comm, &members);
	MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
	expect(sum == members, what);
}

static void made_and_freed(void)
{
	MPI_Comm comm;
	MPI_Group all, half;
	int first = size / 2 ? size / 2 : 1, dims[2] = {0, 0}, periods[2] = {1, 0};

	for (int i = 0; i < 20; i++) {
		MPI_Comm_dup(MPI_COMM_WORLD, &comm);
		sum_over(comm, "dup");
		MPI_Comm_free(&comm);
	}
	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &comm);
	MPI_Comm_set_name(comm, "parity");
	sum_over(comm, "split");
	MPI_Comm_free(&comm);
	MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : 1, 0, &comm);
	expect((comm == MPI_COMM_NULL) == (rank == 0), "split undefined");
	if (comm != MPI_COMM_NULL)
		MPI_Comm_free(&comm);
	MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm);
	sum_over(comm, "split_type");
	MPI_Comm_free(&comm);
	MPI_Comm_group(MPI_COMM_WORLD, &all);
	MPI_Group_range_incl(all, 1, (int[1][3]){{0, first - 1, 1}}, &half);
	MPI_Comm_create(MPI_COMM_WORLD, half, &comm);
	expect((comm != MPI_COMM_NULL) == (rank < first), "create");
	if (comm != MPI_COMM_NULL) {
		sum_over(comm, "created");
		MPI_Comm_free(&comm);
	}
	if (rank < first) {
		MPI_Comm_create_group(MPI_COMM_WORLD, half, 5, &comm);
		sum_over(comm, "create_group");
		MPI_Comm_free(&comm);
	}
	MPI_Group_free(&half);
	MPI_Group_free(&all);
	MPI_Dims_create(size, 2, dims);
	MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &comm);
	if (comm != MPI_COMM_NULL) {
		sum_over(comm, "cart");
		MPI_Comm_free(&comm);
	}
}

static void inter(void)
{
	MPI_Comm half, bridge, merged;
	int group, remote = 0, mine = rank, sum = 0, want = 0;
	if (size < 2)
		return;
	group = rank < size / 2;
	MPI_Comm_split(MPI_COMM_WORLD, group, 0, &half);
	MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, group ? size / 2 : 0, 11, &bridge);
	MPI_Comm_remote_size(bridge, &remote);
	expect(remote == (group ? size - size / 2 : size / 2), "remote size");
	MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, bridge);
	for (int i = 0; i < size; i++)
		want += (i < size / 2) != group ? i : 0;
	expect(sum == want, "allreduce between groups");
	MPI_Intercomm_merge(bridge, group, &merged);
	sum_over(merged, "merge");
	MPI_Comm_free(&merged);
	MPI_Comm_free(&bridge);
	MPI_Comm_free(&half);
}

static void collectives(void)
{
	int *all = calloc((size_t)size * 2, sizeof *all), *mine = calloc((size_t)size * 2, sizeof *mine), value, root = size - 1,
	    flag = 0;
	MPI_Request request;

	value = rank == root ? 42 : 0;
	MPI_Bcast(&value, 1, MPI_INT, root, MPI_COMM_WORLD);
	expect(value == 42, "bcast");
	MPI_Allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
	for (int i = 0; i < size; i++)
		expect(all[i] == i, "allgather");
	MPI_Alltoall(all, 1, MPI_INT, mine, 1, MPI_INT, MPI_COMM_WORLD);
	expect(mine[root] == rank, "alltoall");
	MPI_Scan(&rank, &value, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	expect(value == rank * (rank + 1) / 2, "scan");
	MPI_Reduce(&rank, &value, 1, MPI_INT, MPI_MAX, root, MPI_COMM_WORLD);
	expect(rank != root || value == size - 1, "reduce");
	MPI_Gather(&rank, 1, MPI_INT, all, 1, MPI_INT, 0, MPI_COMM_WORLD);
	MPI_Scatter(all, 1, MPI_INT, &value, 1, MPI_INT, 0, MPI_COMM_WORLD);
	expect(value == rank, "gather and scatter");
	MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	expect(value == size * (size - 1) / 2, "allreduce in place");
	MPI_Ibarrier(MPI_COMM_WORLD, &request);
	while (!flag)
		MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
	value = 1;
	MPI_Iallreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	expect(value == size, "iallreduce");
	free(mine);
	free(all);
}

static void point_to_point(void)
{
	enum { MANY = 16 };
	MPI_Request request[2 * MANY];
	MPI_Status status[2 * MANY];
	int in[MANY], out[MANY], left = (rank + size - 1) % size, right = (rank + 1) % size, index = 0, count = 0, done[2 * MANY];

	for (int i = 0; i < MANY; i++) {
		out[i] = rank * 100 + i;
		MPI_Irecv(&in[i], 1, MPI_INT, i % 2 ? left : MPI_ANY_SOURCE, i, MPI_COMM_WORLD, &request[i]);
	}
	for (int i = 0; i < MANY; i++)
		MPI_Isend(&out[i], 1, MPI_INT, right, i, MPI_COMM_WORLD, &request[MANY + i]);
	MPI_Waitany(2 * MANY, request, &index, status);
	MPI_Waitsome(2 * MANY, request, &count, done, status);
	MPI_Waitall(2 * MANY, request, status);
	for (int i = 0; i < MANY; i++)
		expect(in[i] == left * 100 + i, "isend and irecv");
	MPI_Send_init(out, 1, MPI_INT, right, 99, MPI_COMM_WORLD, &request[0]);
	MPI_Recv_init(in, 1, MPI_INT, left, 99, MPI_COMM_WORLD, &request[1]);
	for (int i = 0; i < 5; i++) {
		out[0] = i;
		MPI_Startall(2, request);
		MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
		expect(in[0] == i, "persistent");
	}
	MPI_Request_free(&request[0]);
	MPI_Request_free(&request[1]);
	MPI_Sendrecv_replace(in, 1, MPI_INT, right, 4, left, 4, MPI_COMM_WORLD, status);
	expect(status[0].MPI_SOURCE == left, "status of sendrecv_replace");
	MPI_Sendrecv(out, 1, MPI_INT, MPI_PROC_NULL, 0, in, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int zoo_main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	made_and_freed();
	inter();
	collectives();
	point_to_point();
	sum_over(MPI_COMM_SELF, "self");
	printf("rank %d saw the zoo\n", rank);
	MPI_Finalize();
	return 0;
}
