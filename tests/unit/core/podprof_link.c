/* podprof.h in a program of its own: prints whether it records. Built as C99, C++11, PIE, -no-pie and static. */
#include "core/podprof.h"

#include <stdio.h>
#include <string.h>

int main(void)
{
	static char name[10001];

	memset(name, 'n', sizeof(name) - 1);
	podprof_window_start("all of it");
	podprof_profile_steps(1000, 1010);
	for (int i = 0; i < 20; i++) {
		PODPROF_WINDOW("a step");
#ifdef __cplusplus
		podprof::window object("the same");
#endif

		podprof_step_begin(i);
		podprof_range_push("forward");
		podprof_range_push_as(name, PODPROF_INPUT);
		podprof_range_pop();
		podprof_range_pop();
		podprof_range_push((const char *)0);
		podprof_range_pop();
		podprof_mark("mark");
		podprof_counter("loss", 1.0 / (i + 1));
		podprof_step_end();
	}
	printf("%d\n", podprof_recording());
	return 0;
}
