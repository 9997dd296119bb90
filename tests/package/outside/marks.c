/* Ten marked steps in C; prints whether anybody recorded them. */
#include <podprof.h>
#include <stdio.h>

int main(void)
{
	int recorded = 0;

	for (int i = 0; i < 10; i++) {
		podprof_step_begin(i);
		podprof_range_push_as("from C", PODPROF_INPUT);
		podprof_range_pop();
		recorded |= podprof_recording();
		podprof_step_end();
	}
	printf("recorded %d\n", recorded);
	return 0;
}
