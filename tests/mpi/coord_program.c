/* Steps with a sum over all ranks in each, until <spool>/stop is there; checks its sums. For coord_bell.c and coord_jobs.py:
 * coord_program LEVEL STEP_US [RANK:MS before MPI_Finalize] [marker]. LEVEL: init, single, funneled, serialized, multiple;
 * marker: another thread than the one that called MPI_Init marks the steps. */
#include <mpi.h>
#include <podprof.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 2000000 };

static int level, me, ranks, step_us, marker;
static long steps;
static long bad;
static pthread_barrier_t turn;

static int is_stopped(void)
{
	const char *spool = getenv("PP_STOP");
	char path[512];

	if (!spool)
		return steps >= 200;
	snprintf(path, sizeof path, "%s/stop", spool);
	return !access(path, F_OK);
}

static void *mark_steps(void *arg)
{
	for (long i = 0;; i++) {
		pthread_barrier_wait(&turn);
		if (steps < 0)
			return arg;
		podprof_step_begin(i);
		pthread_barrier_wait(&turn);
		pthread_barrier_wait(&turn);
		podprof_step_end();
		pthread_barrier_wait(&turn);
	}
}

static void edge(int begin)
{
	if (marker) {
		pthread_barrier_wait(&turn);
		pthread_barrier_wait(&turn);
	} else if (begin) {
		podprof_step_begin(steps);
	} else {
		podprof_step_end();
	}
}

static void train(void)
{
	long in[2], out[2] = {0, 0};
	MPI_Request r[2];
	int from = -1;

	for (steps = 0; steps < MOST && !out[1]; steps++) {
		edge(1);
		in[0] = steps * (me + 1);
		in[1] = me == 0 && steps % 8 == 0 && is_stopped();
		MPI_Irecv(&from, 1, MPI_INT, (me + ranks - 1) % ranks, 7, MPI_COMM_WORLD, &r[0]);
		MPI_Isend(&me, 1, MPI_INT, (me + 1) % ranks, 7, MPI_COMM_WORLD, &r[1]);
		MPI_Allreduce(in, out, 2, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
		MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
		bad += out[0] != steps * ranks * (ranks + 1) / 2 || from != (me + ranks - 1) % ranks;
		if (step_us)
			usleep((useconds_t)step_us);
		edge(0);
	}
}

int main(int argc, char **argv)
{
	static const char *const levels[] = {"single", "funneled", "serialized", "multiple"};
	static const int values[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE};
	int wanted = -1, late_rank = -1, late_ms = 0;
	pthread_t thread;

	for (int i = 0; i < 4 && argc > 1; i++)
		if (!strcmp(argv[1], levels[i]))
			wanted = values[i];
	step_us = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 0;
	if (argc > 3)
		sscanf(argv[3], "%d:%d", &late_rank, &late_ms);
	marker = argc > 4;
	if (wanted < 0)
		MPI_Init(&argc, &argv);
	else
		MPI_Init_thread(&argc, &argv, wanted, &level);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (marker) {
		pthread_barrier_init(&turn, NULL, 2);
		pthread_create(&thread, NULL, mark_steps, NULL);
	}
	train();
	if (marker) {
		steps = -1;
		pthread_barrier_wait(&turn);
		pthread_join(thread, NULL);
	}
	if (me == late_rank)
		usleep((useconds_t)late_ms * 1000);
	MPI_Finalize();
	for (int i = 0; i < 50; i++) { /* requests go on, MPI does not */
		podprof_step_begin(MOST + i);
		usleep(1000);
		podprof_step_end();
	}
	printf("rank %d of %d: %s\n", me, ranks, bad ? "wrong sums" : "sums are right");
	return bad != 0;
}
