/* Ranges without one of their ends: `never` pushes 400 that never end, `pops` ends 7 that never began, `outer` is in 5 while its
 * first 1.2 s pass, `late` its first 4 s, and ends them later. `idle` records nothing in its last 4 s. Used by
 * tests/session/e2e_open.py and e2e_evicted.py. */
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
	if (!strcmp(kind, "idle")) {
		sleep_ms(4000);
		return 0;
	}
	for (int i = 0; i < 5; i++)
		podprof_range_push("outer");
	sleep_ms(strcmp(kind, "late") ? 1200 : 4000);
	for (int i = 0; i < 50; i++) {
		podprof_range_push("inner");
		sleep_ms(1);
		podprof_range_pop();
	}
	for (int i = 0; i < 5; i++)
		podprof_range_pop();
	return 0;
}
