/* Names of signals; see signal_name.h. Used by `podprof run` and the collector. */
#include "core/base/signal_name.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>

#include "core/base/parse.h"

enum { NAMES = 32 }; /* behind them are real-time signals */

/* "+3" or "-1" behind RTMIN or RTMAX. */
static int realtime(const char *rest, int base, char sign, int *ret_number)
{
	int64_t more = 0;

	if (*rest && (*rest != sign || pp_parse_int(rest + 1, &more, NULL) || more > SIGRTMAX - SIGRTMIN))
		return -EINVAL;
	*ret_number = sign == '+' ? base + (int)more : base - (int)more;
	return 0;
}

int pp_signal_parse(const char *text, int *ret_number, struct pp_err *err)
{
	const char *name = strncmp(text, "SIG", 3) ? text : text + 3;
	int number = 0;

	if (!strcmp(name, "USR1"))
		number = SIGUSR1;
	else if (!strcmp(name, "USR2"))
		number = SIGUSR2;
	else if (!strncmp(name, "RTMIN", 5) && !realtime(name + 5, SIGRTMIN, '+', &number))
		;
	else if (!strncmp(name, "RTMAX", 5))
		(void)realtime(name + 5, SIGRTMAX, '-', &number);
	if (!number)
		return pp_err_set(err, -EINVAL, "'%s' cannot be used as a signal here. Give USR1, USR2, RTMIN+N or RTMAX-N", text);
	*ret_number = number;
	return 0;
}

const char *pp_signal_name(int number)
{
	static const char *const name[NAMES] = {
	        [SIGHUP] = "HUP",       [SIGINT] = "INT",   [SIGQUIT] = "QUIT",   [SIGILL] = "ILL",   [SIGTRAP] = "TRAP",
	        [SIGABRT] = "ABRT",     [SIGBUS] = "BUS",   [SIGFPE] = "FPE",     [SIGKILL] = "KILL", [SIGUSR1] = "USR1",
	        [SIGSEGV] = "SEGV",     [SIGUSR2] = "USR2", [SIGPIPE] = "PIPE",   [SIGALRM] = "ALRM", [SIGTERM] = "TERM",
	        [SIGSTKFLT] = "STKFLT", [SIGCHLD] = "CHLD", [SIGCONT] = "CONT",   [SIGSTOP] = "STOP", [SIGTSTP] = "TSTP",
	        [SIGTTIN] = "TTIN",     [SIGTTOU] = "TTOU", [SIGURG] = "URG",     [SIGXCPU] = "XCPU", [SIGXFSZ] = "XFSZ",
	        [SIGVTALRM] = "VTALRM", [SIGPROF] = "PROF", [SIGWINCH] = "WINCH", [SIGPOLL] = "POLL", [SIGPWR] = "PWR",
	        [SIGSYS] = "SYS"};

	return number > 0 && number < NAMES ? name[number] : NULL;
}
