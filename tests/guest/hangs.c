/* A job of four ranks that hangs: hangs HOW [STEPS], after STEPS (default 20) steps with a sum of all ranks each. It ends by itself
 * after 60 s, if nobody ends it. Called by tests/session/e2e_hang.py. */
#include <mpi.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "tests/guest/marks.h"

static int rank, size;

static void sum(MPI_Comm comm)
{
	int one = 1, all;

	MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, comm);
}

static void take(int from, MPI_Comm comm)
{
	int value;

	MPI_Recv(&value, 1, MPI_INT, from, 7, comm, MPI_STATUS_IGNORE);
}

/* Halves by rank: 0, 1 and 2, 3. */
static MPI_Comm halves(void)
{
	MPI_Comm half;

	MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &half);
	MPI_Comm_set_name(half, rank / 2 ? "upper half" : "lower half");
	return half;
}

static void spin(void)
{
	volatile long turns = 0;

	for (;;)
		turns = turns + 1;
}

static void skip(void) /* rank 2 leaves one sum out, and goes on to a barrier that the others are not in */
{
	if (rank != 2)
		sum(MPI_COMM_WORLD);
	MPI_Barrier(MPI_COMM_WORLD);
}

static void early(void) /* rank 1 thinks that it is over */
{
	if (rank != 1)
		sum(MPI_COMM_WORLD);
}

static void crossed(void) /* 0 and 1 receive from each other first; the others wait for all */
{
	if (rank < 2)
		take(1 - rank, MPI_COMM_WORLD);
	sum(MPI_COMM_WORLD);
}

static void loop(void)
{
	if (rank == 3)
		spin();
	sum(MPI_COMM_WORLD);
}

static void chain(void) /* 3 waits for 2 in their half, 2 for a message of 0, 0 in its half for 1, which loops */
{
	MPI_Comm half = halves();

	if (rank == 1)
		spin();
	if (rank == 0)
		sum(half);
	if (rank == 2)
		take(0, MPI_COMM_WORLD);
	if (rank == 3)
		sum(half);
	sum(MPI_COMM_WORLD);
}

static void orders(void) /* two communicators in two orders */
{
	MPI_Comm other;

	MPI_Comm_dup(MPI_COMM_WORLD, &other);
	MPI_Comm_set_name(other, "other");
	sum(rank % 2 ? other : MPI_COMM_WORLD);
	sum(rank % 2 ? MPI_COMM_WORLD : other);
}

static void groups(void) /* one of the other group comes late */
{
	MPI_Comm half, both;

	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
	if (rank == 3)
		pause();
	MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 5, &both);
}

static void roots(void) /* 0 and 1 take each other for the root */
{
	int value = 0;

	MPI_Bcast(&value, 1, MPI_INT, rank % 2 ? 0 : 1, MPI_COMM_WORLD);
	sum(MPI_COMM_WORLD);
}

static void stopped(void)
{
	if (rank == 1)
		raise(SIGSTOP);
	sum(MPI_COMM_WORLD);
}

static void killed(void)
{
	if (rank == 2)
		raise(SIGKILL);
	sum(MPI_COMM_WORLD);
}

static void halo(void) /* rank 0 never sends; 1 waits for it, 2 for 1, 3 for 2 */
{
	MPI_Request request;
	int value = 0;

	if (!rank)
		spin();
	MPI_Irecv(&value, 1, MPI_INT, rank - 1, 7, MPI_COMM_WORLD, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	MPI_Send(&value, 1, MPI_INT, (rank + 1) % size, 7, MPI_COMM_WORLD);
}

static void any(void) /* a server that nobody asks */
{
	if (!rank)
		take(MPI_ANY_SOURCE, MPI_COMM_WORLD);
	sum(MPI_COMM_WORLD);
}

static void fine(void)
{
	for (int i = 0; i < 400; i++) {
		podprof_step_begin(100 + i);
		sleep_ms(20);
		sum(MPI_COMM_WORLD);
	}
}

static void uneven(void) /* rank 3 works long, but moves */
{
	for (int i = 0; rank == 3 && i < 100; i++) {
		sleep_ms(100);
		sum(MPI_COMM_SELF);
	}
	sum(MPI_COMM_WORLD);
}

#define CASE(name)                                                                                                                 \
	{                                                                                                                          \
#name, name                                                                                                        \
	}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} cases[] = {CASE(skip),  CASE(early),   CASE(crossed), CASE(loop), CASE(chain), CASE(orders), CASE(groups),
	             CASE(roots), CASE(stopped), CASE(killed),  CASE(halo), CASE(any),   CASE(fine),   CASE(uneven)};
	int steps = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 20;

	alarm(60);
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int step = 0; step < steps; step++) {
		podprof_step_begin(step);
		sum(MPI_COMM_WORLD);
	}
	for (size_t i = 0; argc > 1 && i < sizeof(cases) / sizeof(cases[0]); i++)
		if (!strcmp(argv[1], cases[i].name))
			cases[i].run();
	MPI_Finalize();
	return 0;
}
