/* Detects the death of a process by pidfd, else by pid and start time, or by its lock in another PID namespace; see
 * watch.h. */
#include "aggregate/spool/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/now.h"
#include "core/base/proc.h"

enum { AT_ONCE = 64, FIELD_END = 52, CHECK_MS = 20 }; /* FIELD_END: exit_code of /proc/PID/stat */

struct end_info { /* Linux 6.15: the first version of struct pidfd_info */
	uint64_t mask, cgroup;
	uint32_t id[11];
	int32_t end;
};

#define PIDFD_GET_INFO _IOWR(0xff, 11, struct end_info)
#define PIDFD_INFO_EXIT ((uint64_t)1 << 3)

static int is_other(const struct pp_watch *w)
{
	uint64_t now = w->start_time ? pp_proc_start_time(w->pid) : 0;

	return now && now != w->start_time;
}

void pp_watch_open(struct pp_watch *w, int pid, uint64_t start_time)
{
	*w = (struct pp_watch){.pid = pid, .pidfd = -1, .lock_fd = -1, .start_time = start_time, .end = -1};
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
	*w = (struct pp_watch){.pid = pid, .pidfd = -1, .lock_fd = -1, .start_time = start_time, .is_foreign = 1, .end = -1};
	if (lock)
		w->lock_fd = open(lock, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
}

/* F_GETLK only asks: taking the lock could refuse it to another process. */
static int is_unlocked(int fd)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	return !fcntl(fd, F_GETLK, &lock) && lock.l_type == F_UNLCK;
}

/* Of a process that its parent has waited for. */
static int end_of_reaped(int pidfd)
{
	struct end_info info = {.mask = PIDFD_INFO_EXIT};

	return !ioctl(pidfd, PIDFD_GET_INFO, &info) && info.mask & PIDFD_INFO_EXIT ? info.end : -1;
}

/* Of a process that its parent has not waited for yet. */
static int end_of_zombie(int pid)
{
	char path[64], text[1024], *p;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	p = pp_proc_read(path, text, sizeof(text)) > 0 ? strrchr(text, ')') : NULL; /* the name may hold blanks and brackets */
	if (!p || strncmp(p, ") Z ", 4) != 0)
		return -1;
	for (int field = 2; p && field < FIELD_END; field++)
		p = strchr(p + 1, ' ');
	return p ? (int)strtol(p, NULL, 10) : -1;
}

/* The parent may wait for it meanwhile. */
static int read_end(const struct pp_watch *w)
{
	int end = w->pidfd >= 0 ? end_of_reaped(w->pidfd) : -1;

	if (end < 0 && w->pidfd >= 0)
		end = end_of_zombie(w->pid);
	return end < 0 && w->pidfd >= 0 ? end_of_reaped(w->pidfd) : end;
}

void pp_watch_join(struct pp_watch *w, struct pp_wake *wake)
{
	if (pp_wake_add(wake, w->pidfd, PP_WAKE_PROCESS))
		w->wake = wake;
}

static int is_early(struct pp_watch *w)
{
	int64_t now = pp_now_ms();

	if (w->checked_ms && now - w->checked_ms < CHECK_MS)
		return 1;
	w->checked_ms = now;
	return 0;
}

static int ask(struct pp_watch *w)
{
	if (w->gone)
		return 1;
	if (w->pidfd < 0 && is_early(w))
		return 0;
	if (w->is_foreign) {
		w->gone = w->lock_fd >= 0 && is_unlocked(w->lock_fd);
	} else if (w->pidfd >= 0) {
		struct pollfd p = {.fd = w->pidfd, .events = POLLIN};

		w->gone = poll(&p, 1, 0) > 0;
	} else {
		w->gone = (kill(w->pid, 0) && errno == ESRCH) || is_other(w);
	}
	if (w->gone) {
		w->end = read_end(w);
		w->gone_ms = pp_now_ms();
		pp_watch_close(w);
	}
	return w->gone;
}

int pp_watch_gone(struct pp_watch *w)
{
	return w->wake ? w->gone : ask(w);
}

void pp_watch_all(struct pp_watch *w, size_t count)
{
	for (size_t first = 0; first < count; first += AT_ONCE) {
		struct pollfd p[AT_ONCE];
		size_t n = count - first < AT_ONCE ? count - first : AT_ONCE;

		for (size_t i = 0; i < n; i++)
			p[i] = (struct pollfd){.fd = w[first + i].pidfd, .events = POLLIN};
		if (poll(p, n, 0) < 0)
			continue;
		for (size_t i = 0; i < n; i++)
			if (p[i].revents)
				ask(&w[first + i]);
	}
}

void pp_watch_close(struct pp_watch *w)
{
	if (w->wake)
		pp_wake_forget(w->wake, w->pidfd);
	if (w->pidfd >= 0)
		close(w->pidfd);
	if (w->lock_fd >= 0)
		close(w->lock_fd);
	w->pidfd = w->lock_fd = -1;
}
