/* A program that starts its ranks itself, without MPI: own_ranks HOW VARIABLE NUMBERS..., run by own_ranks.py. Children are
 * forked and set VARIABLE, or are started again with it; each marks steps. HOW has "first" in it where the parent marks before,
 * "beside" where it does meanwhile, "same" where children say nothing of themselves. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/guest/marks.h"

enum { STEPS = 6, MOST = 8 };

/* All are there at once: each leaves a file in OWN_MEET, and waits for the others'. */
static void rendezvous(int count)
{
	const char *where = getenv("OWN_MEET");
	char path[512];
	static int times;
	int found = 0;

	if (!where || count < 2)
		return;
	snprintf(path, sizeof(path), "%s/%d-%d", where, (int)getpid(), times++);
	fclose(fopen(path, "w"));
	while (found < count) {
		DIR *d = opendir(where);
		struct dirent *e;

		for (found = 0; (e = readdir(d));)
			found += e->d_name[0] != '.';
		closedir(d);
		sleep_ms(2);
	}
}

static void train(int count)
{
	for (int i = 0; i < STEPS; i++) {
		podprof_step_begin(i);
		podprof_range_push_as("work", PODPROF_HOST_COMPUTE);
		sleep_ms(2);
		podprof_range_pop();
		if (!i)
			rendezvous(count);
	}
	podprof_step_end();
	rendezvous(count < 2 ? 0 : 2 * count); /* nobody ends before all are done */
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "train", *variable = argc > 2 ? argv[2] : "";
	pid_t child[MOST] = {0};
	int bad = 0, n = 0;
	int count = argc - 3 + (strstr(how, "beside") != NULL);

	if (!strcmp(how, "train")) {
		train((int)strtol(variable, NULL, 10));
		return 0;
	}
	if (strstr(how, "first"))
		train(0);
	for (; n + 3 < argc && n < MOST; n++) {
		fflush(stdout);
		child[n] = fork();
		if (child[n])
			continue;
		if (!strstr(how, "same"))
			setenv(variable, argv[n + 3], 1);
		if (strstr(how, "exec")) {
			char text[16];

			snprintf(text, sizeof(text), "%d", count);
			execl(argv[0], argv[0], "train", text, (char *)NULL);
			_exit(127);
		}
		train(count);
		exit(0);
	}
	if (strstr(how, "beside"))
		train(count);
	for (int i = 0; i < n; i++) {
		int status = 0;

		bad |= waitpid(child[i], &status, 0) != child[i] || status;
	}
	puts(bad ? "a child failed" : "all ended");
	return bad;
}
