/* Waits for children with a limit; see slurm_child.h. */
#include "launchers/slurm/slurm_child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/now.h"
#include "launchers/cmd.h"

enum { NAP_MS = 2, DEAD_MS = 200 };

/* One that a file system holds cannot die: it is left behind. */
static int wait_until(pid_t child, int limit_ms, int *ret_status)
{
	int64_t until = pp_clock_ns(CLOCK_MONOTONIC) + (int64_t)limit_ms * 1000000;
	pid_t ended;

	while ((ended = waitpid(child, ret_status, WNOHANG)) == 0 || (ended < 0 && errno == EINTR)) {
		if (pp_clock_ns(CLOCK_MONOTONIC) > until)
			return -ETIMEDOUT;
		pp_nap_ms(NAP_MS);
	}
	return ended == child ? 0 : -ECHILD;
}

int pp_slurm_wait(pid_t child, int limit_ms)
{
	int status = 0, rc = wait_until(child, limit_ms, &status);

	if (rc == -ETIMEDOUT) {
		kill(-child, SIGKILL);
		kill(child, SIGKILL);
		wait_until(child, DEAD_MS, &status);
	}
	return rc ? rc : WIFEXITED(status) ? WEXITSTATUS(status) : -ECHILD;
}

int pp_slurm_call(char *const *words, int limit_ms)
{
	pid_t child = fork();

	if (!child) {
		int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

		setpgid(0, 0);
		for (int fd = 0; fd <= 2; fd++)
			dup2(nothing, fd);
		execvp(words[0], words);
		_exit(PP_EXIT_NOT_FOUND);
	}
	return child > 0 ? pp_slurm_wait(child, limit_ms) : -errno;
}
