/* Signals and the deadline of the launcher's library; see doctor_clock_stop.h. */
#include "launchers/doctor/doctor_clock_stop.h"

#include <signal.h>
#include <stddef.h>
#include <unistd.h>

#include "launchers/cmd.h"

enum { GUARD_S = 60 };

static volatile sig_atomic_t is_ended;

static void on_end(int number)
{
	(void)number;
	is_ended = 1;
}

/* The launcher's library may wait forever for a dead server. */
static void on_alarm(int number)
{
	static const char text[] =
	        "podprof: cannot compare clocks: the launcher does not answer. Run podprof doctor --clock again.\n";

	(void)number;
	(void)!write(STDERR_FILENO, text, sizeof(text) - 1);
	_exit(PP_EXIT_FAILED);
}

void pp_doctor_clock_take_signals(void)
{
	struct sigaction end = {.sa_handler = on_end}, late = {.sa_handler = on_alarm};

	sigaction(SIGTERM, &end, NULL);
	sigaction(SIGINT, &end, NULL);
	sigaction(SIGALRM, &late, NULL);
}

int pp_doctor_clock_is_ended(void)
{
	return is_ended != 0;
}

void pp_doctor_clock_guard(int on)
{
	alarm(on ? GUARD_S : 0);
}
