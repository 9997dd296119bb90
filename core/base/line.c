/* Lines on the application's stderr; see line.h. Called by core/collector.c. */
#include "core/base/line.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE_MS = 200 };

/* The write's own one, and none that the application had blocked before. */
static void take_back(int signal)
{
	const struct timespec at_once = {0, 0};
	sigset_t one;

	sigemptyset(&one);
	sigaddset(&one, signal);
	while (sigtimedwait(&one, NULL, &at_once) < 0 && errno == EINTR)
		;
}

void pp_line_write(const char *line, size_t length)
{
	struct pollfd err = {.fd = STDERR_FILENO, .events = POLLOUT};
	sigset_t ours, had, waiting;
	int saved = errno, signal;

	if (poll(&err, 1, PATIENCE_MS) != 1 || err.revents != POLLOUT)
		goto out;
	sigemptyset(&ours);
	sigaddset(&ours, SIGPIPE); /* nobody reads it any more */
	sigaddset(&ours, SIGXFSZ); /* a file as long as it may be */
	sigaddset(&ours, SIGTTOU); /* a terminal that is another job's just now */
	pthread_sigmask(SIG_BLOCK, &ours, &had);
	sigpending(&waiting);
	if (write(STDERR_FILENO, line, length) < 0) {
		signal = errno == EPIPE ? SIGPIPE : SIGXFSZ;
		if ((errno == EPIPE || errno == EFBIG) && !sigismember(&waiting, signal))
			take_back(signal);
	}
	pthread_sigmask(SIG_SETMASK, &had, NULL);
out:
	errno = saved;
}
