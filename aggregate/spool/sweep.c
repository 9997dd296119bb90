/* Removes what dead jobs left long ago, so that it does not fill /dev/shm; see sweep.h. */
#include "aggregate/spool/sweep.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "aggregate/spool/layout.h"
#include "aggregate/spool/processes.h"
#include "aggregate/spool/state.h"

enum { EMPTY_SECONDS = 3600, OLD_SECONDS = 7 * 24 * 3600 };

static int is_stale(const char *path, time_t now)
{
	struct pp_spool_state state;
	enum pp_spool_processes life;
	struct stat st;

	if (lstat(path, &st) || !S_ISDIR(st.st_mode) || st.st_uid != geteuid() || now - st.st_mtime < EMPTY_SECONDS)
		return 0;
	if (pp_spool_read(path, &state) || state.life == PP_SPOOL_RECORDING || state.life == PP_SPOOL_WRITING)
		return 0;
	life = pp_spool_processes(path);
	return life != PP_PROCESSES_LIVE && ((!state.rings && life == PP_PROCESSES_NONE) || now - st.st_mtime > OLD_SECONDS);
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
