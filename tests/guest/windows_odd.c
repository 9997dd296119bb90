/* One process that opens windows where none should: in a forked child, in threads at once, in a signal handler, after exit().
 * Called by tests/session/e2e_windows.py: windows_odd fork|threads|handler|exit. Exit code 0, and never hangs. */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/guest/marks.h"

enum { THREADS = 4, WINDOWS = 200 };

static void steps(int first, int count)
{
	for (int i = first; i < first + count; i++) {
		podprof_step_begin(i);
		sleep_ms(2);
		podprof_step_end();
	}
}

static void many(void)
{
	for (int i = 0; i < WINDOWS; i++) {
		podprof_window_start("inner");
		podprof_window_stop();
	}
}

static void *thread(void *arg)
{
	many();
	return arg;
}

static void on_alarm(int number)
{
	(void)number;
	podprof_window_start("handler");
	podprof_window_stop();
	podprof_profile_steps(1, 2);
}

static void at_exit(void)
{
	many();
	steps(100, 3);
}

static int in_child(void)
{
	int status = 0;
	pid_t pid = fork();

	if (!pid) {
		many();
		podprof_profile_steps(1000, 1001);
		steps(50, 3);
		_exit(0);
	}
	return pid < 0 || waitpid(pid, &status, 0) != pid || status;
}

static void in_handler(void)
{
	const struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
	struct sigaction a = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};

	sigaction(SIGALRM, &a, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	for (int i = 0; i < 20; i++) {
		many();
		steps(10 + i, 1);
	}
	setitimer(ITIMER_REAL, &never, NULL);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	pthread_t t[THREADS];
	int code = 0;

	if (!strcmp(how, "exit"))
		atexit(at_exit);
	podprof_window_start("outer");
	steps(0, 3);
	if (!strcmp(how, "fork"))
		code = in_child();
	if (!strcmp(how, "handler"))
		in_handler();
	for (int i = 0; !strcmp(how, "threads") && i < THREADS; i++)
		pthread_create(&t[i], NULL, thread, NULL);
	for (int i = 0; !strcmp(how, "threads") && i < THREADS; i++)
		pthread_join(t[i], NULL);
	steps(40, 3);
	if (strcmp(how, "exit"))
		podprof_window_stop();
	steps(60, 2);
	return code;
}
