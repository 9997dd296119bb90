/* Makes a directory that only this user may enter; see own_directory.h. */
#include "core/base/own_directory.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/why.h"

int pp_own_directory(const char *path, const char *what, struct pp_err *err)
{
	struct stat st;

	if (mkdir(path, 0700) && errno != EEXIST)
		return pp_err_set(err, -errno, "cannot create %s '%s': %s", what, path, pp_why(errno));
	if (lstat(path, &st))
		return pp_err_set(err, -errno, "cannot open %s '%s': %s", what, path, pp_why(errno));
	if (!S_ISDIR(st.st_mode))
		return pp_err_set(err, -ENOTDIR, "cannot use %s '%s': it is not a directory", what, path);
	if (st.st_uid != geteuid())
		return pp_err_set(err, -EPERM, "cannot use %s '%s': it belongs to user %u", what, path, (unsigned)st.st_uid);
	if ((st.st_mode & 07777) != 0700 && chmod(path, 0700)) /* independent of the umask */
		return pp_err_set(err, -errno, "cannot use %s '%s': other users may write to it", what, path);
	return 0;
}

int pp_make_directories(char *path, mode_t mode)
{
	for (char *p = path + 1; *p; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		if (mkdir(path, mode) && errno != EEXIST) {
			*p = '/';
			return -errno;
		}
		*p = '/';
	}
	return mkdir(path, mode) && errno != EEXIST ? -errno : 0;
}
