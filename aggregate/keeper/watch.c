/* Detects the death of a process by pidfd, else by pid and start time, or by its lock in another PID namespace. Called by
 * keeper.c. */
#include "aggregate/keeper/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/proc.h"

static int is_other(const struct pp_watch *w)
{
	uint64_t now = w->start_time ? pp_proc_start_time(w->pid) : 0;

	return now && now != w->start_time;
}

void pp_watch_open(struct pp_watch *w, int pid, uint64_t start_time)
{
	*w = (struct pp_watch){.pid = pid, .pidfd = -1, .lock_fd = -1, .start_time = start_time};
	if (pid <= 0) {
		w->gone = 1;
		return;
	}
	w->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (w->pidfd < 0 && errno == ESRCH)
		w->gone = 1;
	/* The pid may have been reused: checked after the descriptor is open, it holds for its life. */
	else if (is_other(w))
		w->gone = 1;
	if (w->gone)
		pp_watch_close(w);
}

static int is_foreign(uint32_t space)
{
	uint32_t own = pp_proc_pid_space();

	return space && own && space != own;
}

void pp_watch_open_in(struct pp_watch *w, int pid, uint64_t start_time, uint32_t space, const char *lock)
{
	if (!is_foreign(space)) {
		pp_watch_open(w, pid, start_time);
		return;
	}
	*w = (struct pp_watch){.pid = pid, .pidfd = -1, .lock_fd = -1, .start_time = start_time, .is_foreign = 1};
	if (lock)
		w->lock_fd = open(lock, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
}

/* F_GETLK only asks: taking the lock could refuse it to another process. */
static int is_unlocked(int fd)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	return !fcntl(fd, F_GETLK, &lock) && lock.l_type == F_UNLCK;
}

int pp_watch_gone(struct pp_watch *w)
{
	if (w->gone)
		return 1;
	if (w->is_foreign) {
		w->gone = w->lock_fd >= 0 && is_unlocked(w->lock_fd);
	} else if (w->pidfd >= 0) {
		struct pollfd p = {.fd = w->pidfd, .events = POLLIN};

		w->gone = poll(&p, 1, 0) > 0;
	} else {
		w->gone = (kill(w->pid, 0) && errno == ESRCH) || is_other(w);
	}
	if (w->gone)
		pp_watch_close(w);
	return w->gone;
}

void pp_watch_close(struct pp_watch *w)
{
	if (w->pidfd >= 0)
		close(w->pidfd);
	if (w->lock_fd >= 0)
		close(w->lock_fd);
	w->pidfd = w->lock_fd = -1;
}
