/* Rank 0 fills the window buffer with ranges while the others wait for it in one call: `plain` has no steps; in `marks` each
 * rank marks 5 steps before, of which rank 0's are evicted; `calls` has calls instead of ranges. Used by
 * tests/session/e2e_evicted.py. */
#include <mpi.h>
#include <string.h>

#include "core/podprof.h"

enum { FLOOD = 300000, STEPS = 5 };

int main(int argc, char **argv)
{
	int rank, marks = argc > 1 && !strcmp(argv[1], "marks"), calls = argc > 1 && !strcmp(argv[1], "calls");

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = 0; i < STEPS && marks; i++) {
		podprof_step_begin(i);
		MPI_Barrier(MPI_COMM_WORLD);
		podprof_step_end();
	}
	for (int i = 0; i < FLOOD && !rank && !calls; i++) {
		podprof_range_push("work");
		podprof_range_pop();
	}
	for (int i = 0; i < FLOOD && !rank && calls; i++)
		MPI_Sendrecv(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, NULL, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD,
		             MPI_STATUS_IGNORE);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Finalize();
	return 0;
}
