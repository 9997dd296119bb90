/* Jobs of 30 steps whose culprit is known, for the sentences about waiting. Each step ends with two sums over all ranks.
 * `behind`: rank 0 works 20 ms and then sends; the others wait in MPI_Recv, the last one longest, and come late to the sum.
 * `behind_one`: the same, only rank 1 waits for the message, so that all others wait for rank 1 in the sum.
 * `chain`: rank 0 works 20 ms, rank 1 waits for it in a sum of their own communicator, all others wait for rank 1.
 * `chain_three`: as chain, and rank 2 waits for rank 1 in a sum of these two, so that the others wait for rank 2.
 * `spin`: all ranks count as far. `farm`: rank 0 hands out tasks. `pipeline`: messages along two communicators.
 * A second word: `marked` marks the steps. A third: times the length of work. Used by tests/session/e2e_waits.py. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/podprof.h"

enum { STEPS = 30, WORK_MS = 20, ROUNDS = 4000000 };

static int rank, size, longer = 1;
static double mine = 1, all;
static MPI_Comm first, second;

static void pause_ms(long ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000};

	while (nanosleep(&time, &time))
		;
}

static void count(long rounds)
{
	volatile double value = rank;

	for (long i = 0; i < rounds; i++)
		value = value * 0.999 + 1;
}

static void sums(void)
{
	MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
}

static void hand_on(int receivers)
{
	if (rank == 0) {
		pause_ms((long)WORK_MS * longer);
		for (int to = 1; to <= receivers; to++)
			MPI_Send(&mine, 1, MPI_DOUBLE, to, 0, MPI_COMM_WORLD);
	} else if (rank <= receivers) {
		MPI_Recv(&all, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		pause_ms(rank == receivers ? 3 : 1);
	}
}

static void behind(int step)
{
	(void)step;
	hand_on(size - 1);
	sums();
}

static void behind_one(int step)
{
	(void)step;
	hand_on(1);
	sums();
}

static MPI_Comm pair_of(int lower)
{
	MPI_Comm comm;

	MPI_Comm_split(MPI_COMM_WORLD, rank == lower || rank == lower + 1 ? 0 : MPI_UNDEFINED, rank, &comm);
	return comm;
}

static void chain(int step)
{
	(void)step;
	if (rank == 0)
		pause_ms((long)WORK_MS * longer);
	if (first != MPI_COMM_NULL)
		MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, first);
	if (second != MPI_COMM_NULL)
		MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, second);
}

static void chain_three(int step)
{
	chain(step);
	sums();
}

static void spin(int step)
{
	(void)step;
	count((long)ROUNDS * longer);
	sums();
}

static void farm(int step)
{
	int task = step, give = size * 4, open = size - 1;
	MPI_Status status;

	if (rank == 0) {
		while (open) {
			MPI_Recv(&all, 1, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
			task = give > 0 ? give-- : 0;
			open -= !task;
			MPI_Send(&task, 1, MPI_INT, status.MPI_SOURCE, 1, MPI_COMM_WORLD);
		}
	} else {
		for (task = 1; task;) {
			MPI_Send(&mine, 1, MPI_DOUBLE, 0, 2, MPI_COMM_WORLD);
			MPI_Recv(&task, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			pause_ms(task % 3);
		}
	}
	sums();
}

static void pipeline(int step)
{
	MPI_Comm comm = step % 2 ? first : second;

	if (rank > 0)
		MPI_Recv(&all, 1, MPI_DOUBLE, rank - 1, step, comm, MPI_STATUS_IGNORE);
	pause_ms(rank == 2 ? 5 : 2);
	if (rank < size - 1)
		MPI_Send(&mine, 1, MPI_DOUBLE, rank + 1, step, comm);
}

/* Nobody is late. */
static void even(int step)
{
	(void)step;
	podprof_range_push("forward and backward");
	pause_ms(10);
	podprof_range_pop();
	sums();
}

static const struct {
	const char *what;
	void (*step)(int step);
} shape[] = {{"behind", behind}, {"even", even}, {"behind_one", behind_one}, {"chain", chain}, {"chain_three", chain_three},
             {"spin", spin},     {"farm", farm}, {"pipeline", pipeline}};

static void make_communicators(const char *what)
{
	MPI_Comm_dup(MPI_COMM_WORLD, &first);
	MPI_Comm_dup(MPI_COMM_WORLD, &second);
	if (!strncmp(what, "chain", 5))
		first = pair_of(0);
	if (!strcmp(what, "chain_three"))
		second = pair_of(1);
	else if (!strcmp(what, "chain"))
		MPI_Comm_split(MPI_COMM_WORLD, rank > 0 ? 0 : MPI_UNDEFINED, rank, &second);
}

int main(int argc, char **argv)
{
	int marked = argc > 2 && !strcmp(argv[2], "marked");

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (argc > 3)
		longer = (int)strtol(argv[3], NULL, 10);
	make_communicators(argv[1]);
	for (size_t s = 0; s < sizeof(shape) / sizeof(shape[0]); s++)
		for (int step = 0; !strcmp(argv[1], shape[s].what) && step < STEPS; step++) {
			if (marked)
				podprof_step_begin(step);
			shape[s].step(step);
			if (marked)
				podprof_step_end();
		}
	MPI_Finalize();
	return 0;
}
