/* A job without MPI: STEPS steps of MS milliseconds, then a line with their sum. Called by the drivers of tests/security:
 * steps STEPS MS [RANGE], or until GUEST_STOP; RANGE names the range of each step and a thread, escapes of "\x1b" kind become
 * bytes. */
#include <pthread.h>
#include <string.h>

#include "tests/guest/marks.h"

static char name[512] = "compute";

static void *other(void *unused)
{
	(void)unused;
	pthread_setname_np(pthread_self(), "\033[31mred\n");
	for (int i = 0; i < 3; i++) {
		podprof_range_push(name);
		podprof_range_pop();
	}
	return NULL;
}

static void unescape(const char *from)
{
	size_t n = 0;

	while (*from && n + 1 < sizeof(name)) {
		if (from[0] == '\\' && from[1] == 'x' && from[2] && from[3]) {
			char hex[3] = {from[2], from[3], '\0'};

			name[n++] = (char)strtol(hex, NULL, 16);
			from += 4;
		} else {
			name[n++] = *from++;
		}
	}
	name[n] = '\0';
}

int main(int argc, char **argv)
{
	int steps = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 10, ms = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 1, sum = 0,
	    step;
	pthread_t thread;

	if (argc > 3)
		unescape(argv[3]);
	for (step = 0; step < steps && !is_stopped(); step++) {
		podprof_step_begin(step);
		podprof_range_push(name);
		sleep_ms(ms);
		sum += step;
		podprof_range_pop();
		podprof_step_end();
		if (!step && argc > 3 && !pthread_create(&thread, NULL, other, NULL))
			pthread_join(thread, NULL);
	}
	printf("%d steps, sum %d\n", step, sum);
	return 0;
}
