/* Work in a forked child: what crashes there is a sentence here. See apart.h. */
#include "aggregate/write/apart.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct answer { /* shared with the child */
	int done, code;
	struct pp_err err;
};

static void be_child(int (*work)(void *context, struct pp_err *err), void *context, struct answer *answer, pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	answer->code = work(context, &answer->err);
	answer->done = 1;
	_exit(0); /* no exit handler: the library's own would try again what has just failed */
}

int pp_apart(int (*work)(void *context, struct pp_err *err), void *context, struct pp_err *err)
{
	struct answer *answer = mmap(NULL, sizeof(*answer), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t parent = getpid(), child;
	int status = 0, code;

	if (answer == MAP_FAILED)
		return work(context, err);
	child = fork();
	if (!child)
		be_child(work, context, answer, parent);
	if (child < 0) {
		munmap(answer, sizeof(*answer));
		return work(context, err);
	}
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR) { /* ECHILD, where SIGCHLD is ignored: then it has ended, and says itself how */
			if (!answer->done)
				kill(child, SIGKILL);
			break;
		}
	if (answer->done && WIFEXITED(status))
		code = answer->code ? pp_err_set(err, answer->code, "%s", answer->err.text) : 0;
	else if (WIFSIGNALED(status))
		code = pp_err_set(err, -EIO, "its writer was ended by signal %d (%s)", WTERMSIG(status),
		                  strsignal(WTERMSIG(status)));
	else
		code = pp_err_set(err, -EIO, "its writer ended before it was done");
	munmap(answer, sizeof(*answer));
	return code;
}
