/* A signal that requests a capture; see by_signal.h. Called by collector.c. */
#include "core/window/by_signal.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>

#include "core/base/signal_name.h"
#include "core/coord/self.h"
#include "core/ring/thread_ring.h"

static void on_signal(int number)
{
	struct pp_ring_header *h = pp_ring_pool.header;

	(void)number;
	if (h && pp_self_is_rank()) /* a forked child has the handler too */
		pp_ring_add_signals(h, 1);
}

void pp_by_signal_start(const char *name)
{
	/* SA_RESTART: only calls that no flag restarts return EINTR: sleeps and poll() */
	struct sigaction ours = {.sa_handler = on_signal, .sa_flags = SA_RESTART | SA_ONSTACK}, old;
	int number = 0, saved = errno;
	char text[160];

	if (!*name || pp_signal_parse(name, &number, NULL))
		return;
	sigemptyset(&ours.sa_mask);
	/* may call sigaction: the user named the signal by --signal, and it is taken only where nobody handles it */
	if (!sigaction(number, NULL, &old) && !(old.sa_flags & SA_SIGINFO) &&
	    (old.sa_handler == SIG_DFL || old.sa_handler == on_signal)) {
		/* may call sigaction: as above */
		sigaction(number, &ours, NULL);
	} else {
		snprintf(text, sizeof(text), "signal %s requests no capture: the application handles it. Give another --signal",
		         name);
		pp_self_print(text);
	}
	errno = saved;
}
