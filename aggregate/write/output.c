/* Directories and files of a session: x.part, synced, renamed. Called by every writer. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aggregate/write/writer.h"

static int make_path(char *path, struct pp_err *err)
{
	for (char *p = path + 1;; p++) {
		char was = *p;

		if (was != '/' && was != '\0')
			continue;
		*p = '\0';
		if (mkdir(path, 0777) && errno != EEXIST) {
			int code = errno;

			pp_err_set(err, -code, "cannot make directory '%s': %s", path, strerror(code));
			return -code;
		}
		*p = was;
		if (!was)
			return 0;
	}
}

static int make_under(const struct pp_output *out, const char *under, struct pp_err *err)
{
	char *path;
	int code;

	if (asprintf(&path, "%s/%s/%s", out->logdir, under, out->session) < 0)
		return pp_err_set(err, -ENOMEM, "no memory for the name of a directory");
	code = make_path(path, err);
	free(path);
	return code;
}

int pp_output_make_xspace_dir(const struct pp_output *out, struct pp_err *err)
{
	return make_under(out, "plugins/profile", err);
}

int pp_output_make_dirs(const struct pp_output *out, struct pp_err *err)
{
	int code = pp_output_make_xspace_dir(out, err);

	return code ? code : make_under(out, "podprof", err);
}

static char *part_name(const char *path)
{
	char *part;

	return asprintf(&part, "%s.part", path) < 0 ? NULL : part;
}

int pp_output_create(const char *path, struct pp_err *err)
{
	char *part = part_name(path);
	int fd;

	if (!part)
		return pp_err_set(err, -ENOMEM, "no memory for the name of '%s'", path);
	fd = open(part, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0) {
		fd = -errno;
		pp_err_set(err, fd, "cannot write '%s': %s", path, strerror(-fd));
	}
	free(part);
	return fd;
}

/* A rename is on disk only when its directory is. Some file systems cannot sync directories: that is no failure. */
static void sync_directory(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *dir = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
	int fd = dir ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	if (fd >= 0) {
		(void)fsync(fd);
		close(fd);
	}
	free(dir);
}

int pp_output_commit(int fd, const char *path, struct pp_err *err)
{
	char *part = part_name(path);
	int code = 0;

	if (!part)
		code = ENOMEM;
	else if (fsync(fd) && errno != EINVAL && errno != EROFS)
		code = errno;
	if (close(fd) && !code)
		code = errno;
	if (!code && rename(part, path))
		code = errno;
	if (code) {
		if (part)
			unlink(part);
		free(part);
		return pp_err_set(err, -code, "cannot write '%s': %s", path, strerror(code));
	}
	free(part);
	sync_directory(path);
	return 0;
}

void pp_output_abandon(int fd, const char *path)
{
	char *part = part_name(path);

	if (fd >= 0)
		close(fd);
	if (part)
		unlink(part);
	free(part);
}
