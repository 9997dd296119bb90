/* Runs work in a forked child while the caller continues: a pipe for the answer, a deadline, an error for a crash. See
 * forked_writer.h. */
#include "aggregate/session/forked_writer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "aggregate/session/session.h"
#include "core/base/forked.h"
#include "core/base/now.h"

enum { CLAIMED = 2 * PP_SESSION_PATH };

static void write_all(int fd, const void *data, size_t bytes)
{
	const char *at = data;

	while (bytes) {
		ssize_t n = write(fd, at, bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		at += n;
		bytes -= (size_t)n;
	}
}

static void forget(struct pp_forked_writer *a)
{
	if (a->claimed)
		munmap(a->claimed, CLAIMED);
	a->claimed = a->answer.claimed = NULL;
}

/* Removes unfinished files from a directory, and the directory if it is empty then. */
static void sweep_one(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!d && fd >= 0)
		close(fd);
	while (d && (e = readdir(d))) {
		size_t n = strlen(e->d_name);

		if (n > 5 && !strcmp(e->d_name + n - 5, ".part"))
			unlinkat(fd, e->d_name, 0);
	}
	if (d)
		closedir(d);
	rmdir(path);
}

/* Removes what a killed child left. */
static void sweep(char *claimed)
{
	char *save, *line = claimed ? strtok_r(claimed, "\n", &save) : NULL;

	for (; line; line = strtok_r(NULL, "\n", &save))
		sweep_one(line);
}

static void be_child(const struct pp_forked_work *work, struct pp_forked_answer *answer, int fd)
{
	struct sigaction start = {.sa_handler = SIG_DFL};

	sigaction(SIGTERM, &start, NULL); /* at its deadline it must end; the keeper's handler would continue */
	answer->code = work->run(work->context, answer);
	write_all(fd, answer, sizeof(*answer));
	close(fd);
	if (work->after)
		work->after(work->context);
	_exit(0);
}

int pp_forked_writer_start(struct pp_forked_writer *a, const struct pp_forked_work *work, int64_t limit_ms)
{
	int fd[2];

	*a = (struct pp_forked_writer){.fd = -1};
	a->answer.claimed = mmap(NULL, CLAIMED, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (a->answer.claimed == MAP_FAILED)
		a->answer.claimed = NULL;
	a->claimed = a->answer.claimed;
	if (pipe2(fd, O_CLOEXEC)) {
		int rc = -errno;

		forget(a);
		return rc;
	}
	a->pid = pp_forked();
	if (a->pid < 0) {
		int rc = -errno;

		close(fd[0]);
		close(fd[1]);
		a->pid = 0;
		forget(a);
		return rc;
	}
	if (!a->pid) {
		close(fd[0]);
		be_child(work, &a->answer, fd[1]);
	}
	close(fd[1]);
	fcntl(fd[0], F_SETFL, O_NONBLOCK);
	a->fd = fd[0];
	a->deadline_ms = pp_now_ms() + limit_ms;
	return 0;
}

/* The child closed the pipe early, or is past its deadline. */
static void fail(struct pp_forked_writer *a, int late)
{
	int status = 0;

	if (late)
		kill(a->pid, SIGKILL);
	while (waitpid(a->pid, &status, 0) < 0 && errno == EINTR)
		;
	a->pid = 0;
	sweep(a->claimed);
	memset(&a->answer, 0, sizeof(a->answer));
	a->answer.code = late ? -ETIMEDOUT : -EIO;
	if (late)
		pp_err_set(&a->answer.err, -ETIMEDOUT, "writing it took too long");
	else if (WIFSIGNALED(status))
		pp_err_set(&a->answer.err, -EIO, "its writer process was killed by signal %d (%s)", WTERMSIG(status),
		           strsignal(WTERMSIG(status)));
	else
		pp_err_set(&a->answer.err, -EIO, "its writer process ended too early");
}

int pp_forked_writer_done(struct pp_forked_writer *a)
{
	ssize_t n;

	if (a->fd < 0)
		return 1;
	do {
		n = read(a->fd, (char *)&a->answer + a->got, sizeof(a->answer) - a->got);
		if (n > 0)
			a->got += (size_t)n;
	} while (n > 0 && a->got < sizeof(a->answer));
	if (a->got < sizeof(a->answer)) {
		int late = pp_now_ms() > a->deadline_ms;

		if (n < 0 && (errno == EAGAIN || errno == EINTR) && !late)
			return 0;
		fail(a, late);
	}
	close(a->fd);
	a->fd = -1;
	forget(a);
	return 1;
}

int pp_forked_writer_reaped(struct pp_forked_writer *a)
{
	if (a->pid && waitpid(a->pid, NULL, WNOHANG) != 0)
		a->pid = 0;
	else if (a->pid && pp_now_ms() > a->deadline_ms)
		kill(a->pid, SIGKILL);
	return !a->pid;
}
