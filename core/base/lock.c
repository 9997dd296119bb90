/* Locks of open file descriptions (fcntl_locking(2)); see lock.h. Called for keeper.lock. */
#include "core/base/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int pp_lock_take(int fd)
{
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	if (!fcntl(fd, F_OFD_SETLK, &whole))
		return 0;
	return errno == EACCES ? -EAGAIN : -errno;
}

int pp_lock_is_held(const char *path)
{
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK), rc;

	if (fd < 0)
		return errno == ENOENT ? 0 : -1;
	rc = fcntl(fd, F_OFD_GETLK, &whole);
	close(fd);
	return rc ? -1 : whole.l_type != F_UNLCK;
}
