/* Loops that mark no step: `loop`, `flat` (one allreduce a step), `none` (no two collectives alike), `grow` (one of two grows), of
 * 40 steps; in step 25 rank 2 is 60 ms late. `tail`: messages between neighbours for most of the time, then three equal histograms.
 * `solver`: 20 rounds of two reductions in each of 40 steps. `evaluate`: 40 steps, an evaluation of 6 batches behind each fifth.
 * `phases`: 30 steps of one kind, 30 of another. Two mark some: `late`, 40 steps behind 20 equal rounds of a warm-up;
 * `ranges`, whose 40 ranges each have two rounds. Used by tests/session/e2e_rules.py. */
#include <mpi.h>
#include <string.h>
#include <time.h>

#include "core/podprof.h"

enum { STEPS = 40, SLOW_STEP = 25, SLOW_RANK = 2, MOST = 65536 };

static double weights[MOST], gradients[MOST], sums[MOST];
static int rank, size;

static void compute(int step)
{
	struct timespec late = {0, 60000000};

	if (step == SLOW_STEP && rank == SLOW_RANK)
		nanosleep(&late, NULL);
	for (int i = 0; i < MOST; i++)
		gradients[i] = weights[i] * 0.5 + rank;
}

static void evaluate(void)
{
	double mine = rank, all;

	for (int batch = 0; batch < 3; batch++)
		MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	MPI_Barrier(MPI_COMM_WORLD);
}

/* Two buckets by nonblocking calls, a gather of each rank's own size, the loss. */
static void loop(void)
{
	int counts[64], places[64];
	MPI_Request request[2];

	for (int layer = 0; layer < 8; layer++)
		MPI_Bcast(weights, layer % 2 ? 64 : 4096, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	for (int r = 0; r < size; r++) {
		counts[r] = r + 1;
		places[r] = 64 * r;
	}
	for (int step = 0; step < STEPS; step++) {
		compute(step);
		MPI_Iallreduce(gradients, sums, 4096, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request[0]);
		MPI_Iallreduce(gradients + 4096, sums + 4096, 1000, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request[1]);
		MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
		MPI_Gatherv(gradients, counts[rank], MPI_DOUBLE, sums, counts, places, MPI_DOUBLE, 0, MPI_COMM_WORLD);
		MPI_Allreduce(gradients, sums, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		if (step % 10 == 9)
			evaluate();
	}
}

static void flat(void)
{
	for (int step = 0; step < STEPS; step++) {
		compute(step);
		MPI_Allreduce(gradients, sums, 4096, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	}
}

static void none(void)
{
	for (int step = 0; step < STEPS; step++)
		MPI_Allreduce(gradients, sums, 1 + step * step, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void pause_ms(long ms)
{
	struct timespec time = {0, ms * 1000000};

	nanosleep(&time, NULL);
}

static void sum(int doubles)
{
	MPI_Allreduce(gradients, sums, doubles, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void grow(void)
{
	for (int step = 0; step < STEPS; step++) {
		pause_ms(1);
		sum(100 + step);
		sum(1);
	}
}

static void tail(void)
{
	sum(3);
	for (int i = 0; i < 300; i++) {
		pause_ms(1);
		MPI_Sendrecv(gradients, 100, MPI_DOUBLE, (rank + 1) % size, 0, sums, 100, MPI_DOUBLE, (rank + size - 1) % size, 0,
		             MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
	for (int histogram = 0; histogram < 3; histogram++)
		for (int bins = 1; bins < 6; bins++)
			sum(bins);
}

static void solver(void)
{
	for (int step = 0; step < STEPS; step++) {
		pause_ms(5);
		for (int round = 0; round < 20; round++) {
			sum(1);
			sum(2);
		}
		sum(100);
	}
}

static void evaluations(void)
{
	for (int step = 0; step < STEPS; step++) {
		pause_ms(5);
		sum(4096);
		sum(1);
		for (int batch = 0; step % 5 == 4 && batch < 6; batch++) {
			pause_ms(1);
			sum(2);
		}
	}
}

static void phases(void)
{
	for (int step = 0; step < 60; step++) {
		pause_ms(2);
		sum(4096);
		sum(step < 30 ? 1 : 2);
		if (step >= 30)
			sum(3);
	}
}

static void late(void)
{
	for (int round = 0; round < 20; round++) {
		pause_ms(2);
		sum(4096);
		sum(1);
	}
	for (int step = 0; step < STEPS; step++) {
		podprof_step_begin(step);
		pause_ms(2);
		sum(100);
		podprof_step_end();
	}
}

static void ranges(void)
{
	for (int step = 0; step < STEPS; step++) {
		podprof_range_push("iteration");
		for (int round = 0; round < 2; round++) {
			pause_ms(2);
			sum(100);
			sum(1);
		}
		podprof_range_pop();
	}
}

static const struct {
	const char *what;
	void (*run)(void);
} shape[] = {{"loop", loop},
             {"flat", flat},
             {"none", none},
             {"grow", grow},
             {"tail", tail},
             {"solver", solver},
             {"evaluate", evaluations},
             {"phases", phases},
             {"late", late},
             {"ranges", ranges}};

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "loop";

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (size_t i = 0; i < sizeof(shape) / sizeof(shape[0]); i++)
		if (!strcmp(what, shape[i].what))
			shape[i].run();
	MPI_Finalize();
	return 0;
}
