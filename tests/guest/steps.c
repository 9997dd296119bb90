/* A rank that never calls MPI: steps COUNT MS [SLOW], or until GUEST_STOP. Each step is a range of MS
 * milliseconds, step SLOW of a second more.
 * STEPS_TIMES: a file of its own clock around each mark; STEPS_CLAIM: it says of its time namespace what this says, though it is in
 * another one; STEPS_WITHOUT: a step that is not marked; STEPS_HOLD, "STEP:FILE": that step does not begin before
 * the file is there. Run by tests/session/e2e_hosts.py, e2e_rules.py and e2e_tree.py. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "tests/guest/marks.h"

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif

static int64_t raw_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* The kernel tells the offsets that children would have, and there are none. */
static int claim_clock(const char *offsets)
{
	int fd, rc;

	if (!offsets)
		return 0;
	if (unshare(CLONE_NEWTIME))
		return -1;
	fd = open("/proc/self/timens_offsets", O_WRONLY | O_CLOEXEC);
	rc = fd >= 0 && write(fd, offsets, strlen(offsets)) == (ssize_t)strlen(offsets) ? 0 : -1;
	if (fd >= 0)
		close(fd);
	return rc;
}

/* Until the file is there, for a minute at most. */
static void hold(const char *file)
{
	for (int i = 0; i < 3000 && !is_stopped() && access(file, F_OK); i++)
		sleep_ms(20);
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 20, ms = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 10;
	int slow = argc > 3 ? (int)strtol(argv[3], NULL, 10) : -1;
	int without = getenv("STEPS_WITHOUT") ? (int)strtol(getenv("STEPS_WITHOUT"), NULL, 10) : -1;
	const char *held = getenv("STEPS_HOLD"), *file = held ? strchr(held, ':') : NULL;
	FILE *times = getenv("STEPS_TIMES") ? fopen(getenv("STEPS_TIMES"), "w") : NULL;

	if (claim_clock(getenv("STEPS_CLAIM")))
		return 77;
	for (int step = 0; step < count && !is_stopped(); step++) {
		int64_t before;

		if (file && step == (int)strtol(held, NULL, 10))
			hold(file + 1);
		before = raw_ns();
		if (step == without)
			podprof_step_end();
		else
			podprof_step_begin(step);
		if (times)
			fprintf(times, "%d %" PRId64 " %" PRId64 "\n", step, before, raw_ns());
		podprof_range_push("work");
		sleep_ms(step == slow ? ms + 1000 : ms);
		podprof_range_pop();
	}
	podprof_step_end();
	if (times && fclose(times))
		return 1;
	printf("%d steps\n", count);
	return 0;
}
