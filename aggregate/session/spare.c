/* Makes the directory for sessions that their log directory does not take; see spare.h. */
#include "aggregate/session/spare.h"

#include <errno.h>
#include <stdio.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "core/base/own_directory.h"

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
		rc = pp_own_directory(path, "the directory", err);
		if (!rc)
			rc = has_room(path, err);
	}
	return rc;
}
