/* Signals of our own writes; see hold.h. */
#include "core/base/hold.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

/* Removes the pending signal of our own write, and none that the application had blocked before. */
static void take_back(int number)
{
	const struct timespec at_once = {0, 0};
	sigset_t one;

	sigemptyset(&one);
	sigaddset(&one, number);
	while (sigtimedwait(&one, NULL, &at_once) < 0 && errno == EINTR)
		;
}

void pp_hold_begin(struct pp_hold *hold)
{
	int saved = errno;
	sigset_t ours;

	sigemptyset(&ours);
	sigaddset(&ours, SIGPIPE); /* the pipe has no reader */
	sigaddset(&ours, SIGXFSZ); /* the file is at its size limit */
	sigaddset(&ours, SIGTTOU); /* the terminal's foreground job is another one */
	pthread_sigmask(SIG_BLOCK, &ours, &hold->had);
	/* A signal can only have been pending before if it was blocked: most programs save the system call. */
	sigemptyset(&hold->waiting);
	if (sigismember(&hold->had, SIGPIPE) || sigismember(&hold->had, SIGXFSZ))
		sigpending(&hold->waiting);
	errno = saved;
}

void pp_hold_end(const struct pp_hold *hold, int error)
{
	int saved = errno, number = error == EPIPE ? SIGPIPE : SIGXFSZ;

	if ((error == EPIPE || error == EFBIG) && !sigismember(&hold->waiting, number))
		take_back(number);
	pthread_sigmask(SIG_SETMASK, &hold->had, NULL);
	errno = saved;
}
