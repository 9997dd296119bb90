/* Ranks that never call MPI, one way to end per mode: lone MODE. Run by guest_table.py and guest_more.py under
 * mpirun and podprof run. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/guest/marks.h"

static const char *self;

static int mode_normal(void)
{
	sleep_ms(100);
	say("ends");
	return 0;
}

static int mode_uexit(void)
{
	say("calls _exit");
	_exit(0);
}

static int mode_quick(void)
{
	say("calls quick_exit");
	quick_exit(0);
}

static int mode_exec(void)
{
	say("execs");
	execl("/bin/sh", "sh", "-c", "echo another program; sleep 0.1", (char *)NULL);
	return 1;
}

/* The next program marks too: the rank passes on with exec. */
static int mode_exec_self(void)
{
	say("execs itself");
	execl(self, self, "normal", (char *)NULL);
	return 1;
}

static int mode_exit3(void)
{
	if (world_rank() == 1) {
		sleep_ms(200);
		exit(3);
	}
	sleep_ms(20000);
	return 0;
}

static int mode_one_by_one(void)
{
	sleep_ms(300 * world_rank());
	say("leaves");
	return 0;
}

static void *late_thread(void *arg)
{
	(void)arg;
	sleep_ms(500);
	mark_some();
	say("second thread ends");
	return NULL;
}

static int mode_main_leaves(void)
{
	pthread_t thread;
	if (pthread_create(&thread, NULL, late_thread, NULL))
		return 9;
	pthread_detach(thread);
	say("main leaves");
	pthread_exit(NULL);
}

static int mode_fork_segv(void)
{
	pid_t child = fork();
	if (child == 0) {
		raise(SIGSEGV);
		_exit(1);
	}
	int status = 0;
	waitpid(child, &status, 0);
	say(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV ? "child died of SIGSEGV" : "child did not die");
	return 0;
}

/* Children that mark: they are not the rank, and must not write into its rings. */
static int mode_fork(void)
{
	for (int i = 0; i < 3; i++) {
		pid_t child = fork();
		if (child == 0) {
			mark_some();
			exit(i);
		}
		int status = 0;
		waitpid(child, &status, 0);
		if (!WIFEXITED(status) || WEXITSTATUS(status) != i)
			say("child ended otherwise");
	}
	mark_some();
	say("forked three");
	return 0;
}

static int mode_daemon(void)
{
	if (fork() == 0) {
		setsid();
		for (int fd = 0; fd < 3; fd++)
			close(fd);
		mark_some();
		sleep_ms(4000);
		_exit(0);
	}
	sleep_ms(50);
	say("leaves a daemon");
	return 0;
}

static int mode_sigkill(void)
{
	if (world_rank() == 1) {
		sleep_ms(200);
		raise(SIGKILL);
	}
	sleep_ms(20000);
	return 0;
}

static int mode_segv(void)
{
	if (world_rank() == 1) {
		sleep_ms(200);
		raise(SIGSEGV);
	}
	sleep_ms(20000);
	return 0;
}

static void *short_thread(void *arg)
{
	(void)arg;
	podprof_range_push("short thread");
	sleep_ms(20);
	podprof_range_pop();
	return NULL;
}

/* argument: how many at a time; three generations, so that slots of dead threads are met again */
static int mode_threads(void)
{
	enum { MOST = 300 };
	pthread_t thread[MOST];
	int count = env_number("GUEST_THREADS", MOST), made = 0;

	podprof_step_begin(0);
	for (int turn = 0; turn < 3; turn++) {
		int now = 0;
		while (now < count && now < MOST && !pthread_create(&thread[now], NULL, short_thread, NULL))
			now++;
		for (int i = 0; i < now; i++)
			pthread_join(thread[i], NULL);
		made += now;
	}
	podprof_step_end();
	say(made == 3 * count ? "all threads ran" : "threads are missing");
	return 0;
}

static int mode_stdin(void)
{
	char line[256];
	long lines = 0, bytes = 0;
	while (fgets(line, sizeof line, stdin)) {
		lines++;
		bytes += (long)strlen(line);
	}
	printf("rank %d read %ld lines %ld bytes\n", world_rank(), lines, bytes);
	return 0;
}

static int mode_sleep(void)
{
	say("is up");
	sleep_ms(20000);
	return 0;
}

static volatile sig_atomic_t reported;

static void on_term(int number)
{
	reported = number;
}

static int mode_catch(void)
{
	struct sigaction act = {.sa_handler = on_term};
	sigaction(SIGTERM, &act, NULL);
	sigaction(SIGINT, &act, NULL);
	say("is up");
	for (int i = 0; i < 2000 && !reported; i++)
		sleep_ms(10);
	say(reported ? "was told to end" : "was not told");
	return 0;
}

/* Steps of 5 ms for a while: something goes on while the driver kills the keeper or a rank. */
static int mode_busy(void)
{
	int steps = env_number("GUEST_STEPS", 100), killed = env_number("GUEST_KILL_RANK", -1);
	say("is up");
	for (int step = 0; step < steps; step++) {
		podprof_step_begin(step);
		podprof_range_push_as("compute", PODPROF_HOST_COMPUTE);
		sleep_ms(5);
		podprof_range_pop();
		podprof_step_end();
		if (world_rank() == killed && step == steps / 2)
			raise(SIGKILL);
	}
	say("did its steps");
	return 0;
}

/* Its last line is still in stdio's buffer when it ends. */
static int mode_unflushed(void)
{
	while (!is_stopped())
		sleep_ms(10);
	printf("rank %d leaves this to exit()\n", world_rank());
	return 0;
}

static void *mark_one(void *arg)
{
	podprof_step_begin(0);
	podprof_range_push("compute");
	podprof_range_pop();
	podprof_step_end();
	return arg;
}

static void on_signal(int number)
{
	(void)number;
	mark_one(NULL);
}

/* The first mark, which makes the process the rank, comes from a thread with the smallest stack. */
static int mode_small_stack(void)
{
	pthread_attr_t attr;
	pthread_t thread;

	if (pthread_attr_init(&attr) || pthread_attr_setstacksize(&attr, 16384) || pthread_create(&thread, &attr, mark_one, NULL))
		return 1;
	pthread_join(thread, NULL);
	say("has marked");
	return 0;
}

/* The same from a signal handler with a stack of its own. */
static int mode_signal_stack(void)
{
	static char room[8192]; /* SIGSTKSZ, as programs know it */
	stack_t stack = {.ss_sp = room, .ss_size = sizeof(room)};
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};

	if (sigaltstack(&stack, NULL) || sigaction(SIGUSR1, &action, NULL))
		return 1;
	raise(SIGUSR1);
	say("has marked");
	return 0;
}

static const struct {
	const char *name;
	int (*run)(void);
} modes[] = {
        {"normal", mode_normal},
        {"uexit", mode_uexit},
        {"quick", mode_quick},
        {"exec", mode_exec},
        {"exec_self", mode_exec_self},
        {"exit3", mode_exit3},
        {"one_by_one", mode_one_by_one},
        {"main_leaves", mode_main_leaves},
        {"fork_segv", mode_fork_segv},
        {"fork", mode_fork},
        {"daemon", mode_daemon},
        {"sigkill", mode_sigkill},
        {"segv", mode_segv},
        {"threads", mode_threads},
        {"stdin", mode_stdin},
        {"sleep", mode_sleep},
        {"catch", mode_catch},
        {"busy", mode_busy},
        {"unflushed", mode_unflushed},
        {"small_stack", mode_small_stack},
        {"signal_stack", mode_signal_stack},
};

int main(int argc, char **argv)
{
	self = argv[0];
	for (size_t i = 0; argc == 2 && i < sizeof modes / sizeof modes[0]; i++)
		if (!strcmp(argv[1], modes[i].name)) {
			mark_some();
			return modes[i].run();
		}
	fprintf(stderr, "usage: lone MODE\n");
	return 2;
}
