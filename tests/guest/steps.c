/* A rank that never calls MPI: steps COUNT MS [SLOW]. Each step is a range of MS milliseconds, step SLOW of a second more. Run by
 * tests/session/e2e_hosts.py. */
#include "tests/guest/marks.h"

int main(int argc, char **argv)
{
	int count = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 20, ms = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 10;
	int slow = argc > 3 ? (int)strtol(argv[3], NULL, 10) : -1;

	for (int step = 0; step < count; step++) {
		podprof_step_begin(step);
		podprof_range_push("work");
		sleep_ms(step == slow ? ms + 1000 : ms);
		podprof_range_pop();
	}
	podprof_step_end();
	printf("%d steps\n", count);
	return 0;
}
