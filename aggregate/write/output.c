/* Directories and files of a session: x.part, synced, renamed. Called by every writer. */
#include "aggregate/write/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aggregate/write/writer.h"
#include "core/base/why.h"

/* Where others may write too, only its own user and root may lead us elsewhere by a link. */
static int trusts(const char *path, struct pp_err *err)
{
	struct stat st;

	if (lstat(path, &st) || !S_ISLNK(st.st_mode) || !st.st_uid || st.st_uid == geteuid())
		return 0;
	return pp_err_set(err, -EPERM, "cannot write into '%s': it is a link of user %u", path, (unsigned)st.st_uid);
}

static int make_path(char *path, size_t given, struct pp_err *err)
{
	for (char *p = path + 1;; p++) {
		char was = *p;
		int code = 0;

		if (was != '/' && was != '\0')
			continue;
		*p = '\0';
		if (mkdir(path, 0777) && errno != EEXIST)
			code = pp_err_set(err, -errno, "cannot make directory '%s': %s", path, pp_why(errno));
		else if ((size_t)(p - path) > given)
			code = trusts(path, err);
		*p = was;
		if (!was || code)
			return code;
	}
}

int pp_output_make(const char *logdir, const char *under, struct pp_err *err)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/%s", logdir, under) >= (int)sizeof(path))
		return pp_err_set(err, -ENAMETOOLONG, "cannot make directory '%s/%s': its name is too long", logdir, under);
	return make_path(path, strlen(logdir), err);
}

static int make_under(const struct pp_output *out, const char *under, struct pp_err *err)
{
	char *path;
	int code;

	if (strchr(out->session, '/') || out->session[0] == '.') /* sent by another host, or read from a file */
		return pp_err_set(err, -EINVAL,
		                  "cannot make session '%s': this is not a valid directory name. Give another --session",
		                  out->session);
	if (asprintf(&path, "%s/%s", under, out->session) < 0)
		return pp_err_set(err, -ENOMEM, "no memory for the name of a directory");
	code = pp_output_make(out->logdir, path, err);
	free(path);
	return code;
}

int pp_output_make_xspace_dir(const struct pp_output *out, struct pp_err *err)
{
	return make_under(out, "plugins/profile", err);
}

int pp_output_make_dir(const struct pp_output *out, struct pp_err *err)
{
	return make_under(out, "podprof", err);
}

int pp_output_make_dirs(const struct pp_output *out, struct pp_err *err)
{
	int code = pp_output_make_xspace_dir(out, err);

	return code ? code : pp_output_make_dir(out, err);
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

	/* A file of ours, not what a link or a pipe of that name leads to: the log directory may be everybody's. */
	if (!fd && unlink(part) && errno != ENOENT)
		fd = -1;
	if (!fd)
		fd = open(part, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
	if (fd >= 0)
		return fd;
	if (fd == -1)
		fd = -errno;
	return pp_err_set(err, fd, "cannot write '%s': %s", path, pp_why(-fd));
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
		return pp_err_set(err, -code, "cannot write '%s': %s", path, pp_why(code));
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
