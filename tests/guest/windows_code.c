/* A job that opens windows itself: steps of MS milliseconds with a sum of all ranks in each.
 * Called by tests/session/e2e_windows.py: windows_code STEPS MS HOW [RANK] */
#include <mpi.h>
#include <string.h>

#include "tests/guest/marks.h"

static int rank;

static void step(int number, int ms)
{
	int ones = 0;

	podprof_step_begin(number);
	podprof_range_push("compute");
	sleep_ms(ms);
	podprof_range_pop();
	MPI_Allreduce(MPI_IN_PLACE, &ones, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	podprof_step_end();
}

static void scoped(int first, int ms)
{
	PODPROF_WINDOW("scoped");

	for (int i = 0; i < 3; i++)
		step(first + i, ms);
}

/* What is done around step `i`. */
static void around(const char *how, int i, int who)
{
	int mine = who < 0 || rank == who;

	if (!strcmp(how, "pairs") || !strcmp(how, "one")) {
		if (i % 10 == 3 && mine)
			podprof_window_start("pairs");
		if (i % 10 == 6 && mine)
			podprof_window_stop();
	} else if (!strcmp(how, "odd")) {
		if (i == 2 || i == 30)
			podprof_window_stop(); /* nothing is open */
		if (i == 10 || i == 12)
			podprof_window_start(i == 10 ? "outer" : "inner");
		if (i == 13 || i == 15)
			podprof_window_stop();
	} else if (!strcmp(how, "ends") && i == 20) {
		podprof_window_start("to the end");
	} else if (!strcmp(how, "steps")) {
		if (i == 2) {
			podprof_profile_steps(10, 13);
			podprof_profile_steps(20, 22);
			podprof_profile_steps(900, 910);
		}
		if (i == 5) {
			podprof_profile_steps(3, 6);
			podprof_profile_steps(12, 15);
			podprof_profile_steps(9, 9);
		}
	}
}

int main(int argc, char **argv)
{
	int steps = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 40, ms = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 1;
	const char *how = argc > 3 ? argv[3] : "pairs";
	int who = argc > 4 ? (int)strtol(argv[4], NULL, 10) : -1;

	if (!strcmp(how, "early"))
		podprof_window_start("early"); /* nobody knows yet that this is a rank */
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = 0; i < steps; i++) {
		around(how, i, who);
		if (!strcmp(how, "early") && i == 5)
			podprof_window_stop();
		if (!strcmp(how, "scoped") && i % 10 == 3) {
			scoped(i, ms);
			i += 2;
			continue;
		}
		step(i, ms);
	}
	if (!rank)
		say("done");
	MPI_Finalize();
	return 0;
}
