/* What a process costs without podprof, for run.py. `bench_spawn children N ENVIRONMENT...` runs /bin/true N times in each
 * environment in turn ("NAME=VALUE,NAME=VALUE", "" is bare) and prints the median time of each in us. `bench_spawn wakes MS
 * SECONDS` wakes every MS, does nothing else, and prints its CPU time in us per second. */
#include <errno.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/now.h"

enum { ENVIRONMENTS = 8, ADDED = 8, SLACK_NS = 50000, NICE = 10 };

struct variant {
	char **environment;
	double *us;
};

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* This process's environment without podprof's variables, and with those in `more`. */
static char **environment_of(char *more)
{
	size_t count = 0, used = 0;
	char **all;

	while (environ[count])
		count++;
	all = calloc(count + ADDED + 1, sizeof(*all));
	for (size_t i = 0; all && i < count; i++)
		if (strncmp(environ[i], "PODPROF_", 8) != 0 && strncmp(environ[i], "LD_PRELOAD=", 11) != 0)
			all[used++] = environ[i];
	for (char *save, *one = strtok_r(more, ",", &save); all && one && used < count + ADDED; one = strtok_r(NULL, ",", &save))
		all[used++] = one;
	return all;
}

static double time_one(char **environment)
{
	static char program[] = "/bin/true";
	char *argv[] = {program, NULL};
	int64_t begin = pp_clock_ns(CLOCK_MONOTONIC);
	int status = 0;
	pid_t child;

	if (posix_spawn(&child, program, NULL, NULL, argv, environment))
		return -1;
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return status ? -1 : (double)(pp_clock_ns(CLOCK_MONOTONIC) - begin) / 1000;
}

static int children(size_t times, size_t count, char **more)
{
	struct variant variant[ENVIRONMENTS];

	if (!times || count > ENVIRONMENTS)
		return 2;
	for (size_t i = 0; i < count; i++) {
		variant[i] = (struct variant){environment_of(more[i]), calloc(times, sizeof(double))};
		if (!variant[i].environment || !variant[i].us)
			return 1;
	}
	for (size_t n = 0; n < times; n++)
		for (size_t i = 0; i < count; i++) {
			variant[i].us[n] = time_one(variant[i].environment);
			if (variant[i].us[n] < 0)
				return 1;
		}
	for (size_t i = 0; i < count; i++) {
		qsort(variant[i].us, times, sizeof(double), by_value);
		printf("%.1f\n", variant[i].us[times / 2]);
	}
	return 0;
}

static int wakes(int ms, int seconds)
{
	int set = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event event;
	int64_t begin;

	if (set < 0 || ms < 1 || seconds < 1)
		return 2;
	prctl(PR_SET_TIMERSLACK, SLACK_NS, 0, 0, 0); /* as the keeper has it */
	setpriority(PRIO_PROCESS, 0, NICE);
	begin = pp_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	for (int i = 0; i < seconds * 1000 / ms; i++)
		epoll_wait(set, &event, 1, ms);
	printf("%.1f\n", (double)(pp_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - begin) / 1000 / seconds);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 3 && !strcmp(argv[1], "children"))
		return children(strtoul(argv[2], NULL, 10), (size_t)argc - 3, argv + 3);
	if (argc == 4 && !strcmp(argv[1], "wakes"))
		return wakes((int)strtol(argv[2], NULL, 10), (int)strtol(argv[3], NULL, 10));
	return 2;
}
