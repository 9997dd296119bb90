/* What the guest's test programs share: their rank, short sleeps, and a few marks when GUEST_MARK is set (a mark makes a process
 * the rank; without one a program that never calls MPI stays untouched). Called by lone.c, mpi_ends.c and odd_marks.c. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "core/podprof.h"

static inline int env_number(const char *name, int fallback)
{
	const char *text = getenv(name);
	return text && *text ? (int)strtol(text, NULL, 10) : fallback;
}

static inline int world_rank(void)
{
	return env_number("OMPI_COMM_WORLD_RANK", env_number("PMI_RANK", 0));
}

static inline void sleep_ms(int ms)
{
	struct timespec left = {ms / 1000, ms % 1000 * 1000000L};
	while (nanosleep(&left, &left))
		;
}

/* Three short steps with two ranges each. */
static inline void mark_some(void)
{
	if (!env_number("GUEST_MARK", 0))
		return;
	for (int step = 0; step < 3; step++) {
		podprof_step_begin(step);
		podprof_range_push("load");
		podprof_range_pop();
		podprof_range_push_as("compute", PODPROF_HOST_COMPUTE);
		podprof_mark("half way");
		podprof_range_pop();
		podprof_counter("loss", 1.0 / (step + 1));
		podprof_step_end();
	}
}

/* A job of more steps than its test needs ends when the test has all that it wants: then there is the file GUEST_STOP. */
static inline int is_stopped(void)
{
	const char *path = getenv("GUEST_STOP");
	return path && !access(path, F_OK);
}

/* A line that stands or falls as a whole: ranks share one pipe. */
static inline void say(const char *what)
{
	printf("rank %d %s\n", world_rank(), what);
	fflush(stdout);
}
