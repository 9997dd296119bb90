/* What e2e_mpi.py runs under podprof: session_program MODE [ARGUMENT...]. Built as users' programs are. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "podprof.h"

static int me, ranks;

static void work(int us)
{
	struct timespec t = {0, 1000L * us};

	nanosleep(&t, NULL);
}

/* Four more processes; they run this program again, or what the arguments say. */
static void spawn(int argc, char **argv)
{
	MPI_Comm made;
	int more = 0;

	MPI_Comm_get_parent(&made);
	if (made == MPI_COMM_NULL)
		MPI_Comm_spawn(argc > 2 ? argv[2] : argv[0], argc > 3 ? &argv[3] : (char *[]){"spawn", NULL}, 4, MPI_INFO_NULL, 0,
		               MPI_COMM_WORLD, &made, MPI_ERRCODES_IGNORE);
	MPI_Allreduce(&me, &more, 1, MPI_INT, MPI_SUM, made);
	MPI_Comm_disconnect(&made);
	for (int i = 0; i < 10; i++)
		MPI_Barrier(MPI_COMM_WORLD);
	printf("sum %d of %d\n", more, ranks);
}

/* Ten steps with one Allreduce each; recording is stopped in step 4 and goes on in step 6. */
static void pcontrol(void)
{
	int sum;

	for (int step = 0; step < 10; step++) {
		podprof_step_begin(step);
		if (step == 1) { /* outside the window: changes nothing */
			MPI_Pcontrol(0);
			MPI_Pcontrol(1);
		}
		if (step == 4)
			MPI_Pcontrol(0);
		if (step == 6)
			MPI_Pcontrol(1);
		MPI_Pcontrol(100 + step);
		work(2000);
		MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	}
	podprof_step_end();
}

/* Rank 1 sends late; rank 0 polls for it, then computes between few polls. */
static void polls(void)
{
	MPI_Request r;
	int flag, in = 0;

	for (int step = 0; step < 4; step++) {
		podprof_step_begin(step);
		if (me == 0) {
			MPI_Irecv(&in, 1, MPI_INT, 1, step, MPI_COMM_WORLD, &r);
			do
				MPI_Test(&r, &flag, MPI_STATUS_IGNORE);
			while (!flag);
			MPI_Irecv(&in, 1, MPI_INT, 1, 100 + step, MPI_COMM_WORLD, &r);
			do {
				work(3000);
				MPI_Test(&r, &flag, MPI_STATUS_IGNORE);
			} while (!flag);
		} else {
			work(30000);
			MPI_Send(&me, 1, MPI_INT, 0, step, MPI_COMM_WORLD);
			work(30000);
			MPI_Send(&me, 1, MPI_INT, 0, 100 + step, MPI_COMM_WORLD);
		}
		MPI_Barrier(MPI_COMM_WORLD);
	}
	podprof_step_end();
}

/* A ring of persistent requests, 1000 bytes a step to the right. */
static void persistent(void)
{
	char out[1000] = "", in[1000];
	MPI_Request both[2];

	MPI_Recv_init(in, 1000, MPI_CHAR, (me + ranks - 1) % ranks, 0, MPI_COMM_WORLD, &both[0]);
	MPI_Send_init(out, 1000, MPI_CHAR, (me + 1) % ranks, 0, MPI_COMM_WORLD, &both[1]);
	for (int step = 0; step < 20; step++) {
		podprof_step_begin(step);
		MPI_Startall(2, both);
		work(1000);
		MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
	}
	podprof_step_end();
	MPI_Request_free(&both[0]);
	MPI_Request_free(&both[1]);
}

/* Ranks come one after the other to collectives that have nothing to move, then to those of an intercommunicator whose groups are
 * the even and the odd ranks: who has come leaves before the others of his group. */
static void empty(void)
{
	int counts[64] = {0}, at[64] = {0}, in[64], out[64] = {0};
	MPI_Datatype types[64];
	MPI_Comm half, inter, none;

	for (int i = 0; i < 64; i++)
		types[i] = MPI_INT;
	MPI_Comm_split(MPI_COMM_WORLD, me % 2, me, &half);
	MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - me % 2, 7, &inter);
	for (int i = 0; i < 4; i++) {
		MPI_Request request;

		MPI_Barrier(MPI_COMM_WORLD);
		work(me * 5000);
		MPI_Graph_create(MPI_COMM_WORLD, 0, at, at, 0, &none);
		MPI_Allreduce(out, in, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
		MPI_Iallreduce(out, in, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		MPI_Alltoall(out, 0, MPI_INT, in, 0, MPI_INT, MPI_COMM_WORLD);
		MPI_Alltoallv(out, counts, at, MPI_INT, in, counts, at, MPI_INT, MPI_COMM_WORLD);
		MPI_Alltoallw(out, counts, at, types, in, counts, at, types, MPI_COMM_WORLD);
		MPI_Allgather(out, 0, MPI_INT, in, 0, MPI_INT, MPI_COMM_WORLD);
		MPI_Allgatherv(out, 0, MPI_INT, in, counts, at, MPI_INT, MPI_COMM_WORLD);
		MPI_Reduce_scatter(out, in, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
		counts[me] = counts[(me + 1) % ranks] = 1; /* with oneself and one neighbour on a ring of two */
		counts[(me + 1) % ranks] = ranks == 2;
		MPI_Alltoallv(out, counts, at, MPI_INT, in, counts, at, MPI_INT, MPI_COMM_WORLD);
		counts[me] = counts[(me + 1) % ranks] = 0;
		MPI_Barrier(MPI_COMM_WORLD);
		work(me / 2 * 10000);
		MPI_Allgather(&me, 1, MPI_INT, in, 1, MPI_INT, inter);
		MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, inter);
		MPI_Barrier(inter);
		MPI_Allreduce(&me, in, me % 2 ? 0 : 1, MPI_INT, MPI_SUM, half);
	}
	MPI_Comm_free(&inter);
	MPI_Comm_free(&half);
}

/* Neighbours on a line with two ends, then of a graph in which each rank sends to the next one and rank 0 to rank 2 too. The last
 * rank comes late. */
static void neighbours(void)
{
	int left = (me + ranks - 1) % ranks, from[2] = {left, 0}, to[2] = {(me + 1) % ranks, 2}, in[4] = {0}, out[4] = {0},
	    weights[2] = {1, 1};
	MPI_Comm comm[2];
	MPI_Request request;

	MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, (int[]){0}, 0, &comm[0]);
	MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, me == 2 ? 2 : 1, from, weights, me == 0 ? 2 : 1, to, weights, MPI_INFO_NULL,
	                               0, &comm[1]);
	for (int step = 0; step < 12; step++) {
		MPI_Comm on = comm[step % 2];

		podprof_step_begin(step);
		MPI_Barrier(MPI_COMM_WORLD);
		work(me == ranks - 1 ? 20000 : 0);
		if (step % 4 < 2) {
			MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, on);
			continue;
		}
		MPI_Ineighbor_allgather(&me, 1, MPI_INT, in, 1, MPI_INT, on, &request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
	}
	podprof_step_end();
	MPI_Comm_free(&comm[0]);
	MPI_Comm_free(&comm[1]);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (!strcmp(mode, "spawn"))
		spawn(argc, argv);
	else if (!strcmp(mode, "pcontrol"))
		pcontrol();
	else if (!strcmp(mode, "polls"))
		polls();
	else if (!strcmp(mode, "empty"))
		empty();
	else if (!strcmp(mode, "neighbours"))
		neighbours();
	else if (!strcmp(mode, "persistent"))
		persistent();
	else
		MPI_Abort(MPI_COMM_WORLD, 2);
	MPI_Finalize();
	return 0;
}
