/* A job for windows: steps of MS milliseconds with a sum of all ranks in each, in one range of the whole run. Called by
 * tests/session/e2e_windows.py, e2e_status.py: windows STEPS MS [HOW]; all ranks end before where there is GUEST_STOP
 * unmarked RANK | killed RANK STEP | hung RANK STEP | slow RANK STEP | late RANK MS | from STEP | eats RANK STEP */
#include <mpi.h>
#include <signal.h>
#include <string.h>

#include "tests/guest/marks.h"

static int number(int argc, char **argv, int at, int fallback)
{
	return at < argc ? (int)strtol(argv[at], NULL, 10) : fallback;
}

/* Takes memory until a limit ends the process, 4 GiB at most. */
static void eat(void)
{
	enum { PART = 4 << 20 };

	for (int i = 0; i < 1024; i++) {
		char *part = malloc(PART);

		if (!part)
			return;
		memset(part, i | 1, PART);
	}
}

int main(int argc, char **argv)
{
	int steps = number(argc, argv, 1, 100), ms = number(argc, argv, 2, 1);
	const char *how = argc > 4 ? argv[3] : "";
	int who = number(argc, argv, 4, -1), when = number(argc, argv, 5, 0), rank, ones = 0;
	int marks, first = strcmp(how, "from") ? 0 : who;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	marks = strcmp(how, "unmarked") || rank != who;
	podprof_range_push("whole run");
	for (int step = first; step < first + steps; step++) {
		if (marks)
			podprof_step_begin(step);
		podprof_range_push("compute");
		sleep_ms(!strcmp(how, "late") && rank == who ? when : ms);
		podprof_range_pop();
		if (!strcmp(how, "killed") && rank == who && step == when)
			raise(SIGKILL);
		if (!strcmp(how, "eats") && rank == who && step == when)
			eat();
		if (!strcmp(how, "hung") && rank == who && step == when)
			sleep_ms(6000);
		if (!strcmp(how, "slow") && rank == who && step == when)
			sleep_ms(1000);
		if (strcmp(how, "late")) {
			ones = !rank && is_stopped();
			MPI_Allreduce(MPI_IN_PLACE, &ones, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
		}
		if (marks)
			podprof_step_end();
		if (ones)
			break;
	}
	podprof_range_pop();
	if (!rank)
		say("done");
	MPI_Finalize();
	return 0;
}
