/* Looks a program up in PATH; see program.h. Called by cmd_run.c and podprof.c. */
#include "launchers/run/program.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int pp_program_find(const char *command, char file[PATH_MAX])
{
	const char *path = getenv("PATH");
	struct stat st;
	int why = ENOENT;

	if (!*command)
		return ENOENT;
	if (strchr(command, '/')) {
		snprintf(file, PATH_MAX, "%s", command);
		if (stat(command, &st)) /* what is neither missing nor forbidden, exec is to judge */
			return errno == EACCES ? EACCES : errno == ENOENT || errno == ENOTDIR ? ENOENT : 0;
		return S_ISDIR(st.st_mode) || (access(command, X_OK) && errno == EACCES) ? EACCES : 0;
	}
	for (path = path ? path : "/bin:/usr/bin"; path; path = strchr(path, ':') ? strchr(path, ':') + 1 : NULL) {
		int length = (int)strcspn(path, ":");

		if (snprintf(file, PATH_MAX, "%.*s%s%s", length, path, length ? "/" : "", command) >= PATH_MAX)
			continue;
		if (stat(file, &st) || S_ISDIR(st.st_mode))
			continue;
		if (!access(file, X_OK) || errno != EACCES)
			return 0;
		why = EACCES;
	}
	return why;
}
