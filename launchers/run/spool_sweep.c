/* Removes what dead jobs left long ago, so that it does not fill /dev/shm. Called by podprof run of rank 0 or without ranks. */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "aggregate/keeper/spool.h"
#include "launchers/run/spool.h"

enum { EMPTY_SECONDS = 3600, OLD_SECONDS = 7 * 24 * 3600 };

/* "run-PID", "run-PID-SPACE", "rank-R-PID.ring", not "rank-R.claim": a rank may train on for weeks after its keeper died. A reused
 * pid keeps the spool a while longer. */
static int pid_of(const char *name)
{
	int pid = 0;

	return sscanf(name, "run-%d", &pid) == 1 || sscanf(name, "rank-%*d-%d", &pid) == 1 ? pid : 0;
}

int pp_spool_has_processes(const char *spool)
{
	DIR *d = opendir(spool);
	struct dirent *e;
	int found = 0;

	while (d && !found && (e = readdir(d))) {
		int pid = pid_of(e->d_name);

		found = pid > 0 && !kill(pid, 0);
	}
	if (d)
		closedir(d);
	return found;
}

static int is_stale(const char *path, time_t now)
{
	struct pp_spool_state state;
	struct stat st;

	if (lstat(path, &st) || !S_ISDIR(st.st_mode) || st.st_uid != geteuid() || now - st.st_mtime < EMPTY_SECONDS)
		return 0;
	if (pp_spool_read(path, &state) || state.life == PP_SPOOL_RECORDING || state.life == PP_SPOOL_WRITING)
		return 0;
	return (!state.rings || now - st.st_mtime > OLD_SECONDS) && !pp_spool_has_processes(path);
}

int pp_spool_sweep(const char *spool)
{
	char path[PP_SPOOL_PATH + 256];
	const char *slash = strrchr(spool, '/');
	time_t now = time(NULL);
	struct dirent *e;
	char own[40];
	int swept = 0, length = slash ? (int)(slash - spool) : 0;
	DIR *d;

	/* Beside a spool that --spool named there is nothing of ours. */
	snprintf(own, sizeof(own), "/podprof-%u", (unsigned)geteuid());
	if (length <= (int)strlen(own) || memcmp(slash - strlen(own), own, strlen(own)))
		return 0;
	snprintf(path, sizeof(path), "%.*s", length, spool);
	d = opendir(path);
	while (d && (e = readdir(d))) {
		if (e->d_name[0] == '.' || !strcmp(e->d_name, slash + 1))
			continue;
		snprintf(path, sizeof(path), "%.*s/%s", length, spool, e->d_name);
		if (!is_stale(path, now))
			continue;
		pp_spool_remove(path);
		swept += access(path, F_OK) != 0;
	}
	if (d)
		closedir(d);
	return swept;
}
