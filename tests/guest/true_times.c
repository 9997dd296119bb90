/* A job that says when its steps began by its own clock: true_times STEPS MS DIRECTORY [LATE]. Each rank writes
 * DIRECTORY/times-RANK: a line a step with its number and CLOCK_MONOTONIC_RAW before and after the mark. With LATE it writes each
 * line at once, as the job may be killed, and rank LATE takes three times as long. Run by tests/session/e2e_clock.py,
 * e2e_salvage_clock.py and tests/bench/clock.py. */
#include <inttypes.h>
#include <mpi.h>
#include <time.h>

#include "tests/guest/marks.h"

enum { MOST = 20000 };

static int64_t raw_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int main(int argc, char **argv)
{
	static int64_t before[MOST], after[MOST];
	int steps = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 20, ms = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 5, rank,
	    ones = 1, late = argc > 4 ? (int)strtol(argv[4], NULL, 10) : -1;
	char path[4096];
	FILE *f;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	snprintf(path, sizeof(path), "%s/times-%d", argc > 3 ? argv[3] : ".", rank);
	f = fopen(path, "w");
	for (int step = 0; step < steps && step < MOST; step++) {
		before[step] = raw_ns();
		podprof_step_begin(step);
		after[step] = raw_ns();
		sleep_ms(rank == late ? 3 * ms : ms + (late < 0 ? rank % 3 : 0));
		MPI_Allreduce(MPI_IN_PLACE, &ones, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
		podprof_step_end();
		if (f && late >= 0) {
			fprintf(f, "%d %" PRId64 " %" PRId64 "\n", step, before[step], after[step]);
			fflush(f);
		}
	}
	for (int step = 0; f && late < 0 && step < steps && step < MOST; step++)
		fprintf(f, "%d %" PRId64 " %" PRId64 "\n", step, before[step], after[step]);
	if (!f || fclose(f))
		return 1;
	MPI_Finalize();
	return 0;
}
