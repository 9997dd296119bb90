/* Makes the directory for sessions that their log directory does not take; see spare.h. */
#include "aggregate/session/spare.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "core/base/why.h"

int pp_spare_helps(int code)
{
	switch (-code) {
	case ENOSPC:
	case EDQUOT:
	case EROFS:
	case EACCES:
	case EPERM:
	case EIO:
	case ENOENT:
	case ENOTDIR:
	case ELOOP:
	case ESTALE:
	case ENOTCONN:
	case EHOSTDOWN:
	case ETIMEDOUT:
		return 1;
	default:
		return 0;
	}
}

/* Others could lead the files elsewhere if it were theirs, or a link. */
static int own(const char *path, struct pp_err *err)
{
	struct stat st;

	if (mkdir(path, 0700) && errno != EEXIST)
		return pp_err_set(err, -errno, "cannot make directory '%s': %s", path, pp_why(errno));
	if (lstat(path, &st))
		return pp_err_set(err, -errno, "cannot look at '%s': %s", path, pp_why(errno));
	if (!S_ISDIR(st.st_mode))
		return pp_err_set(err, -ENOTDIR, "cannot write into '%s': it is not a directory", path);
	if (st.st_uid != geteuid())
		return pp_err_set(err, -EPERM, "cannot write into '%s': it belongs to user %u", path, (unsigned)st.st_uid);
	if ((st.st_mode & 022) && chmod(path, 0700))
		return pp_err_set(err, -errno, "cannot write into '%s': other users may write to it", path);
	return 0;
}

/* Windows may come for hours: the rest belongs to the node. */
static int has_room(const char *path, struct pp_err *err)
{
	struct statvfs fs;

	if (statvfs(path, &fs) || fs.f_bavail >= fs.f_blocks / 10)
		return 0;
	return pp_err_set(err, -ENOSPC, "cannot write into '%s': less than a tenth of its file system is free", path);
}

int pp_spare_open(char *path, size_t size, struct pp_err *err)
{
	static const char *const under[] = {"/var/tmp", "/tmp"};
	int rc = -ENOENT;

	for (size_t i = 0; rc && i < sizeof(under) / sizeof(under[0]); i++) {
		snprintf(path, size, "%s/podprof-sessions-%u", under[i], (unsigned)geteuid());
		rc = own(path, err);
		if (!rc)
			rc = has_room(path, err);
	}
	return rc;
}
