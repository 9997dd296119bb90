/* Directories and files of a session: x.part, synced, renamed. Called by every writer. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
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

/* On the stack: what is to be removed when memory is out has a name too. */
static int part_name(const char *path, char part[PATH_MAX])
{
	return snprintf(part, PATH_MAX, "%s.part", path) < PATH_MAX ? 0 : -ENAMETOOLONG;
}

int pp_output_create(const char *path, struct pp_err *err)
{
	char part[PATH_MAX];
	int fd = part_name(path, part);

	if (!fd)
		fd = open(part, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd >= 0)
		return fd;
	if (fd == -1)
		fd = -errno;
	return pp_err_set(err, fd, "cannot write '%s': %s", path, strerror(-fd));
}

/* A rename is on disk only when its directory is. Some file systems cannot sync directories: that is no failure. */
static void sync_directory(const char *path)
{
	const char *slash = strrchr(path, '/');
	char dir[PATH_MAX];
	int fd;

	snprintf(dir, sizeof(dir), "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0) {
		(void)fsync(fd);
		close(fd);
	}
}

int pp_output_commit(int fd, const char *path, struct pp_err *err)
{
	char part[PATH_MAX];
	int code = -part_name(path, part);

	if (!code && fsync(fd) && errno != EINVAL && errno != EROFS)
		code = errno;
	if (close(fd) && !code)
		code = errno;
	if (!code && rename(part, path))
		code = errno;
	if (code) {
		unlink(part);
		return pp_err_set(err, -code, "cannot write '%s': %s", path, strerror(code));
	}
	sync_directory(path);
	return 0;
}

void pp_output_abandon(int fd, const char *path)
{
	char part[PATH_MAX];

	if (fd >= 0)
		close(fd);
	if (!part_name(path, part))
		unlink(part);
}
