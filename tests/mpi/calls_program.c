/* What calls.py runs under podprof on 3 ranks: calls_program FILE. Each call that completes operations, in an order that a flag in
 * the shared FILE forces. Built as users' programs are. */
#include <fcntl.h>
#include <mpi.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "podprof.h"

enum { STEPS = 6 };

static _Atomic int *flag;
static int me, value;

static void nap(long us)
{
	struct timespec t = {0, 1000 * us};

	nanosleep(&t, NULL);
}

static void wait_for(int want)
{
	while (atomic_load(flag) < want)
		nap(200);
}

/* Tags 1 and 2 by one Waitall: rank 2 sends when rank 1's message has arrived. */
static void waitall(int step)
{
	MPI_Request r[3];
	int got[3], sum;

	if (me == 0) {
		MPI_Irecv(&got[0], 1, MPI_INT, 2, 2, MPI_COMM_WORLD, &r[0]);
		MPI_Irecv(&got[1], 1, MPI_INT, 1, 1, MPI_COMM_WORLD, &r[1]);
		r[2] = MPI_REQUEST_NULL;
		MPI_Waitall(3, r, MPI_STATUSES_IGNORE);
	} else if (me == 1) {
		MPI_Ssend(&me, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
		atomic_store(flag, 10 * step + 1);
	} else {
		wait_for(10 * step + 1);
		nap(20000);
		MPI_Send(&me, 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
	}
	MPI_Iallreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &r[0]);
	MPI_Wait(&r[0], MPI_STATUS_IGNORE);
}

/* Tags 3 and 4 by two Waitany. */
static void waitany(void)
{
	MPI_Request r[2];
	int got[2], index;

	if (me == 0) {
		MPI_Irecv(&got[0], 1, MPI_INT, 1, 3, MPI_COMM_WORLD, &r[0]);
		MPI_Irecv(&got[1], 1, MPI_INT, 2, 4, MPI_COMM_WORLD, &r[1]);
		MPI_Waitany(2, r, &index, MPI_STATUS_IGNORE);
		MPI_Waitany(2, r, &index, MPI_STATUS_IGNORE);
	} else {
		MPI_Send(&me, 1, MPI_INT, 0, 2 + me, MPI_COMM_WORLD);
	}
}

/* Tags 5 and 6: rank 0 with rank 1. */
static void sendrecv(void)
{
	int got;

	if (me < 2)
		MPI_Sendrecv(&me, 1, MPI_INT, 1 - me, 5 + me, &got, 1, MPI_INT, 1 - me, 6 - me, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Tag 7: rank 1 sends when rank 0 has polled for it. */
static void test(int step)
{
	MPI_Request r;
	int got, done = 0;

	if (me == 0) {
		MPI_Irecv(&got, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, &r);
		for (int n = 0; !done; n++) {
			MPI_Test(&r, &done, MPI_STATUS_IGNORE);
			if (n == 3)
				atomic_store(flag, 10 * step + 2);
			if (n > 3)
				nap(200);
		}
	} else if (me == 1) {
		wait_for(10 * step + 2);
		MPI_Send(&me, 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
	}
}

/* Tag 8: probed, and polled for; then an epoch of rank 0 with rank 1. */
static void lone(MPI_Win win)
{
	MPI_Group all, other;
	int got, found = 0, peer = 1 - me;

	if (me > 1)
		return;
	if (me == 1) {
		MPI_Send(&me, 1, MPI_INT, 0, 8, MPI_COMM_WORLD);
		MPI_Send(&me, 1, MPI_INT, 0, 9, MPI_COMM_WORLD);
	} else {
		MPI_Probe(1, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Recv(&got, 1, MPI_INT, 1, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Iprobe(1, 99, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
		MPI_Recv(&got, 1, MPI_INT, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
	MPI_Comm_group(MPI_COMM_WORLD, &all);
	MPI_Group_incl(all, 1, &peer, &other);
	if (me == 1) {
		MPI_Win_post(other, 0, win);
		MPI_Win_wait(win);
	} else {
		MPI_Win_start(other, 0, win);
		MPI_Put(&me, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
		MPI_Win_complete(win);
	}
	MPI_Group_free(&all);
	MPI_Group_free(&other);
}

int main(int argc, char **argv)
{
	MPI_Win win;
	int file = argc > 1 ? open(argv[1], O_RDWR | O_CREAT, 0600) : -1;

	if (file < 0 || ftruncate(file, sizeof(int)))
		return 2;
	flag = mmap(NULL, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (flag == MAP_FAILED)
		return 2;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Win_create(&value, sizeof(value), sizeof(value), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	for (int step = 0; step < STEPS; step++) {
		podprof_step_begin(step);
		waitall(step);
		podprof_range_push("exchange");
		waitany();
		podprof_range_push("shift");
		sendrecv();
		podprof_range_pop();
		podprof_range_pop();
		test(step);
		lone(win);
		MPI_Barrier(MPI_COMM_WORLD);
	}
	podprof_step_end();
	MPI_Win_free(&win);
	MPI_Finalize();
	return 0;
}
