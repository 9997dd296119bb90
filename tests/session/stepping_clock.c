/* CLOCK_REALTIME of a keeper that jumps; the machine's own is not touched. Preloaded into podprof by e2e_wall.py:
 * CLOCK_STEP=FILE:BY says by how many ns, once there is the file. A keeper's environment is a clean one: execve() carries it
 * over. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 128 };

static int is_keeper; /* 1: it is, 2: it is and the date has jumped, -1: another process */
static char step_file[4096];
static long long step_by;

static void look(void)
{
	const char *text = getenv("CLOCK_STEP"), *on = getenv("CLOCK_STEP_ON");

	is_keeper = text && on && sscanf(text, "%4095[^:]:%lld", step_file, &step_by) == 2 ? 1 : -1;
}

int clock_gettime(clockid_t clock, struct timespec *t)
{
	static int (*real)(clockid_t, struct timespec *);
	long long ns;
	int rc;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
	rc = real(clock, t);
	if (clock != CLOCK_REALTIME || rc)
		return rc;
	if (!is_keeper)
		look();
	if (is_keeper == 1 && !access(step_file, F_OK))
		is_keeper = 2;
	if (is_keeper != 2)
		return rc;
	ns = t->tv_sec * 1000000000LL + t->tv_nsec + step_by;
	t->tv_sec = ns / 1000000000;
	t->tv_nsec = ns % 1000000000;
	return 0;
}

int execve(const char *path, char *const argv[], char *const env[])
{
	static int (*real)(const char *, char *const[], char *const[]);
	static char preload[4200], step[4200], on[] = "CLOCK_STEP_ON=1";
	char *more[MOST + 4];
	int n = 0;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "execve");
	if (!argv[0] || !argv[1] || strcmp(argv[1], "keeper") != 0 || !getenv("CLOCK_STEP") || !getenv("CLOCK_STEP_LIBRARY"))
		return real(path, argv, env);
	while (n < MOST && env[n]) {
		more[n] = env[n];
		n++;
	}
	snprintf(preload, sizeof(preload), "LD_PRELOAD=%s", getenv("CLOCK_STEP_LIBRARY"));
	snprintf(step, sizeof(step), "CLOCK_STEP=%s", getenv("CLOCK_STEP"));
	more[n++] = preload;
	more[n++] = step;
	more[n++] = on;
	more[n] = NULL;
	return real(path, argv, more);
}
