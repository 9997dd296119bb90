/* Training loops that mark no step: `loop`, `flat` (one allreduce a step), `none` (no two collectives alike). 40 steps; in step 25
 * rank 2 is 60 ms late. Used by tests/session/e2e_rules.py. */
#include <mpi.h>
#include <string.h>
#include <time.h>

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

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "loop";

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (!strcmp(what, "flat"))
		flat();
	else if (!strcmp(what, "none"))
		none();
	else
		loop();
	MPI_Finalize();
	return 0;
}
