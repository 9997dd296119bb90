/* Makes and tries the log directory in a process of its own, for a file system may hang; see logdir.h. */
#include "launchers/run/logdir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "aggregate/keeper/spawn.h"
#include "core/base/now.h"
#include "core/base/own_directory.h"
#include "core/base/why.h"

enum { LIMIT_S = 5, ANSWER = 3 };

struct answer {
	int rc, made, pid;
	char path[PATH_MAX];
	struct pp_err err;
};

/* Writes a page, not a byte: a full file system still creates empty files. The name has no pid: processes of other hosts have
 * the same ones. */
static int prove_writable(const char *directory)
{
	char path[PATH_MAX], page[4096] = {0};
	int fd, rc = 0;

	if (snprintf(path, sizeof(path), "%s/.podprof-XXXXXX.part", directory) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	fd = mkostemps(path, (int)strlen(".part"), O_CLOEXEC);
	if (fd < 0)
		return -errno;
	errno = ENOSPC;
	if (write(fd, page, sizeof(page)) != (ssize_t)sizeof(page))
		rc = -errno;
	if (close(fd) && !rc)
		rc = -errno;
	unlink(path);
	return rc;
}

static int check(const char *logdir, struct answer *a)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s", logdir);
	a->made = access(path, F_OK) && errno == ENOENT;
	a->rc = pp_make_directories(path, 0777);
	if (a->rc)
		return pp_err_set(&a->err, a->rc, "cannot create '%s': %s", logdir, pp_why(-a->rc));
	if (!realpath(path, a->path))
		return pp_err_set(&a->err, -errno, "cannot open '%s': %s", logdir, pp_why(errno));
	a->rc = prove_writable(a->path);
	return a->rc ? pp_err_set(&a->err, a->rc, "cannot write '%s': %s", logdir, pp_why(-a->rc)) : 0;
}

/* The process that may hang. It keeps none of the job's descriptors: whoever waits for their end would wait for it. */
static void answer(int fd, const char *logdir)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN};
	static struct answer a;
	size_t done = 0;

	fd = fcntl(fd, F_DUPFD, ANSWER); /* the job may have begun without stdin */
	for (int i = 0; i < ANSWER; i++)
		close(i);
	if (open("/dev/null", O_RDWR) != 0 || dup2(0, 1) < 0 || dup2(0, 2) < 0 || dup2(fd, ANSWER) < 0)
		_exit(1);
	pp_close_from(ANSWER + 1);
	sigaction(SIGPIPE, &ignore, NULL);
	a.pid = (int)getpid();
	a.rc = check(logdir, &a);
	while (done < sizeof(a)) {
		ssize_t n = write(ANSWER, (char *)&a + done, sizeof(a) - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	if (done < sizeof(a) && a.made) /* nobody waited: the job runs without it */
		rmdir(a.path);
	_exit(0);
}

/* 0, or -ETIMEDOUT, or -EIO: no whole answer came. */
static int receive(int fd, struct answer *a)
{
	int64_t until = pp_clock_ns(CLOCK_MONOTONIC) + (int64_t)LIMIT_S * 1000000000;
	size_t done = 0;

	while (done < sizeof(*a)) {
		struct pollfd one = {fd, POLLIN, 0};
		int64_t left = (until - pp_clock_ns(CLOCK_MONOTONIC)) / 1000000;
		int ready = left > 0 ? poll(&one, 1, (int)left) : 0;
		ssize_t n;

		if (ready < 0 && errno == EINTR)
			continue;
		if (ready <= 0)
			return -ETIMEDOUT;
		n = read(fd, (char *)a + done, sizeof(*a) - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -EIO;
		done += (size_t)n;
	}
	return 0;
}

static int ask(const char *logdir, struct answer *a, struct pp_err *err)
{
	int end[2], rc;
	pid_t child;

	if (pipe2(end, O_CLOEXEC))
		return pp_err_set(err, -errno, "cannot look at '%s': %s", logdir, pp_why(errno));
	child = fork();
	if (!child) {
		/* The middle process ends at once: the other one is then no child of what this process becomes, but in a container
		 * that begins with this process. */
		if (!fork())
			answer(end[1], logdir);
		_exit(0);
	}
	rc = child < 0 ? -errno : 0;
	close(end[1]);
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	if (!rc)
		rc = receive(end[0], a);
	close(end[0]);
	while (!rc && waitpid(a->pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (rc == -ETIMEDOUT)
		return pp_err_set(err, rc, "cannot use '%s': its file system does not answer within %d s", logdir, LIMIT_S);
	if (rc == -EIO)
		return pp_err_set(err, rc, "cannot look at '%s': no process can be started for it", logdir);
	return rc ? pp_err_set(err, rc, "cannot look at '%s': %s", logdir, pp_why(-rc)) : 0;
}

int pp_logdir_open(const char *logdir, char *ret_path, size_t size, int *ret_made, struct pp_err *err)
{
	static struct answer a;
	int rc;

	if (strpbrk(logdir, "\n\r"))
		return pp_err_set(err, -EINVAL, "cannot use the log directory: its name has a line break");
	if (strlen(logdir) >= sizeof(a.path))
		return pp_err_set(err, -ENAMETOOLONG, "cannot use the log directory: its name is too long");
	rc = ask(logdir, &a, err);
	if (rc)
		return rc;
	if (ret_made)
		*ret_made = a.made;
	if (snprintf(ret_path, size, "%s", a.path) >= (int)size)
		return pp_err_set(err, -ENAMETOOLONG, "cannot use the log directory '%s': its name is too long", logdir);
	return a.rc ? pp_err_set(err, a.rc, "%s", a.err.text) : 0;
}

const char *pp_logdir_cure(int rc)
{
	switch (rc) {
	case -EACCES:
	case -EPERM:
	case -EROFS:
		return "give a directory of your own by -o";
	case -ENOSPC:
	case -EDQUOT:
		return "free space or use -o";
	case -EMFILE:
	case -ENFILE:
		return "raise the limit on open files (ulimit -n)";
	default:
		return "give another directory by -o";
	}
}
