/* Files of a spool by their names: finds, claims, writes and removes them; see layout.h. */
#include "aggregate/spool/layout.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

FILE *pp_spool_open_text(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	FILE *f = fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) ? fdopen(fd, "r") : NULL;

	if (fd >= 0 && !f) {
		close(fd);
		errno = EINVAL;
	}
	return f;
}

int pp_spool_salvaged(const char *spool, char *ret_session, size_t size)
{
	char path[PP_SPOOL_PATH + 32];
	FILE *f;
	int rc;

	snprintf(path, sizeof(path), "%s/" PP_SPOOL_SALVAGED, spool);
	f = pp_spool_open_text(path);
	if (!f)
		return 0;
	rc = fgets(ret_session, (int)size, f) != NULL;
	fclose(f);
	if (rc)
		ret_session[strcspn(ret_session, "\n")] = '\0';
	return rc && !access(ret_session, F_OK);
}

int pp_spool_is_first(const char *spool, const char *name)
{
	char path[PP_SPOOL_PATH + 32];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", spool, name);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

int pp_spool_write_part(char *part, const char *text, size_t length)
{
	int fd = mkostemp(part, O_CLOEXEC);
	int rc = 0;

	if (fd < 0)
		return -errno;
	if (fchmod(fd, 0600)) /* independent of the umask */
		rc = -errno;
	while (length && !rc) {
		ssize_t n = write(fd, text, length);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			rc = n < 0 ? -errno : -ENOSPC;
			break;
		}
		text += n;
		length -= (size_t)n;
	}
	if (close(fd) && !rc)
		rc = -errno;
	return rc;
}

int pp_spool_count_rings(const char *spool)
{
	DIR *d = opendir(spool);
	struct dirent *e;
	int rings = 0;

	while (d && (e = readdir(d))) {
		size_t length = strlen(e->d_name);

		rings += length > 5 && !strcmp(e->d_name + length - 5, ".ring");
	}
	if (d)
		closedir(d);
	return rings;
}

/* Names of podprof's files: core/ring/ring_file.h, and files that keepers of several hosts exchange. */
int pp_spool_is_file_name(const char *name)
{
	static const char *const begin[] = {
	        "run-",   "rank-",   "share-",        "gather-",      ".options-", ".control-",          ".run-",
	        ".rank-", "options", "control",       "keeper.",      "socket",    "followed",           "salvaged",
	        "said",   "meeting", PP_SPOOL_CLOCKS, PP_SPOOL_RULES, ".rules-",   PP_SPOOL_MADE_LOGDIR, "mpi-"};

	for (size_t i = 0; i < sizeof(begin) / sizeof(begin[0]); i++)
		if (!strncmp(name, begin[i], strlen(begin[i])))
			return 1;
	return 0;
}

void pp_spool_remove_logdir(const char *spool, const char *logdir)
{
	char path[4096];

	if (snprintf(path, sizeof(path), "%s/" PP_SPOOL_MADE_LOGDIR, spool) < (int)sizeof(path) && !access(path, F_OK))
		rmdir(logdir); /* fails where there is something in it */
}

/* Renamed first, which is atomic: the next program of the same rank would take a spool without control page for a new one. */
void pp_spool_remove(const char *spool)
{
	char gone[4200];
	const char *path = spool;
	DIR *dir;
	struct dirent *e;
	int fd;

	if (snprintf(gone, sizeof(gone), "%s.gone-%d", spool, (int)getpid()) < (int)sizeof(gone) && !rename(spool, gone))
		path = gone;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((e = readdir(dir)))
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			unlinkat(fd, e->d_name, 0);
	closedir(dir);
	rmdir(path);
}
