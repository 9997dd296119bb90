/* Ranges without one of their ends: `never` pushes 400 that never end, `pops` ends 7 that never began, `outer` is in 5 while its first
 * 1.2 s pass and ends them later. Used by tests/session/e2e_open.py. */
#include <string.h>

#include "tests/guest/marks.h"

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "outer";

	if (!strcmp(kind, "never")) {
		for (int i = 0; i < 400; i++)
			podprof_range_push("never");
		return 0;
	}
	podprof_range_push("whole");
	podprof_range_pop();
	if (!strcmp(kind, "pops")) {
		for (int i = 0; i < 7; i++)
			podprof_range_pop();
		return 0;
	}
	for (int i = 0; i < 5; i++)
		podprof_range_push("outer");
	sleep_ms(1200);
	for (int i = 0; i < 50; i++) {
		podprof_range_push("inner");
		sleep_ms(1);
		podprof_range_pop();
	}
	for (int i = 0; i < 5; i++)
		podprof_range_pop();
	return 0;
}
