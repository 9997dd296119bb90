/* The process that waits for the keeper and replaces it; see guard.h. It holds nothing of the job: no ring, no lock, no descriptor
 * but that of keeper.log. */
#include "aggregate/keeper/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "aggregate/spool/control.h"
#include "aggregate/spool/state.h"
#include "core/base/now.h"

enum {
	MOST = 3,          /* keepers that follow: what kills each of them would go on */
	WRITER_MS = 60000, /* a session that the killed one's child still writes; it has the keeper's lock until then */
	NAP_MS = 5,
	JOB_STDERR = 3, /* as in spawn.c */
};

static int ready_fd = -1;

void pp_guard_ready(void)
{
	if (ready_fd >= 0 && write(ready_fd, "", 1) == 1)
		close(ready_fd);
	ready_fd = -1;
}

/* As the keeper does: whoever ends the job by a signal to all its processes wants the session. */
static void ignore_signals(void)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN};

	sigaction(SIGTERM, &ignore, NULL);
	sigaction(SIGINT, &ignore, NULL);
	sigaction(SIGHUP, &ignore, NULL);
	sigaction(SIGPIPE, &ignore, NULL);
}

/* 0 in the keeper; -1: no process. */
static pid_t start(int *ret_ready)
{
	int fd[2];
	pid_t keeper;

	if (pipe2(fd, O_CLOEXEC))
		return -1;
	keeper = fork();
	*ret_ready = fd[0];
	if (!keeper)
		ready_fd = fd[1];
	else
		close(fd[1]);
	if (keeper <= 0)
		close(fd[0]);
	return keeper;
}

static void wait_until_ready(const char *spool, pid_t keeper, int fd)
{
	ssize_t n;
	char one;

	do
		n = read(fd, &one, 1);
	while (n < 0 && errno == EINTR);
	close(fd);
	if (n == 1)
		pp_control_guard(spool, (int)keeper);
}

/* Is the session still to be written, and by nobody else? Keepers of several hosts go on without a killed one. */
static int may_follow(const char *spool, pid_t keeper, const struct pp_death *d)
{
	struct pp_spool_state state;
	int64_t begin = pp_now_ms();

	if (d->times > MOST)
		return 0;
	while (!pp_spool_read(spool, &state) && state.keeper_pid == (int)keeper && !state.pod && state.life != PP_SPOOL_DONE &&
	       state.life != PP_SPOOL_FAILED) {
		if (state.life == PP_SPOOL_LEFT)
			return 1;
		if (pp_now_ms() - begin > WRITER_MS)
			return 0;
		pp_nap_ms(NAP_MS);
	}
	return 0;
}

int pp_guard(const char *spool, char *word, struct pp_death *ret_death)
{
	struct pp_death *d = ret_death;
	int status = 0, ready = -1;

	*d = (struct pp_death){.times = 0};
	ignore_signals();
	for (;;) {
		pid_t keeper = start(&ready), ended;

		if (!keeper)
			memcpy(word, "keeper", sizeof("keeper"));
		if (!keeper || (keeper < 0 && !d->times))
			return -1;
		if (keeper < 0)
			return 1;
		memcpy(word, "guard", sizeof("guard"));
		prctl(PR_SET_NAME, "podprof-guard", 0, 0, 0);
		if (ready != JOB_STDERR)
			close(JOB_STDERR); /* of the first keeper alone */
		wait_until_ready(spool, keeper, ready);
		do
			ended = waitpid(keeper, &status, 0);
		while (ended < 0 && errno == EINTR);
		if (ended != keeper) {
			dprintf(STDERR_FILENO,
			        "podprof: the end of the keeper (process %d) cannot be seen: %s. It goes on without a guard\n",
			        (int)keeper, strerror(errno));
			return 1;
		}
		if (!WIFSIGNALED(status))
			return WEXITSTATUS(status);
		d->times++;
		d->signal = WTERMSIG(status);
		d->when = time(NULL);
		if (!may_follow(spool, keeper, d))
			return 1;
	}
}
