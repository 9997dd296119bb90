/* Signals of our own writes; see hold.h. */
#include "core/base/hold.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

/* The write's own one, and none that the application had blocked before. */
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
	sigaddset(&ours, SIGPIPE); /* nobody reads it any more */
	sigaddset(&ours, SIGXFSZ); /* a file as long as it may be */
	sigaddset(&ours, SIGTTOU); /* a terminal that is another job's just now */
	pthread_sigmask(SIG_BLOCK, &ours, &hold->had);
	/* Only what was blocked before can have been waiting: most programs save the call, late ones that filter it their life. */
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
