/* Ranks that lack something: room in the spool, large files, memory, fork's handlers. One kind per mode: scarce MODE [ARGUMENT].
 * Run by scarce.py. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tests/guest/marks.h"

static void step(int64_t number)
{
	podprof_step_begin(number);
	podprof_range_push("work");
	sleep_ms(2);
	podprof_range_pop();
	podprof_step_end();
}

static void *with_a_slot(void *arg)
{
	podprof_range_push("thread");
	podprof_range_pop();
	pthread_barrier_wait(arg);
	return NULL;
}

/* All that is left of the file system that holds `dir`. */
static int fill(const char *dir)
{
	static const char zero[65536];
	char path[512];
	int fd;

	snprintf(path, sizeof path, "%s/filler", dir);
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	if (fd < 0)
		return -1;
	for (size_t n = sizeof zero; n; n /= 2)
		while (write(fd, zero, n) > 0)
			;
	close(fd);
	return 0;
}

/* The spool fills up when the ring has its name: everything that a program can say comes after that. */
static int late_full(const char *dir)
{
	enum { THREADS = 200 };
	pthread_t thread[THREADS];
	pthread_barrier_t barrier;

	step(0);
	if (fill(dir))
		return 3;
	podprof_profile_steps(4, 6);
	for (int i = 0; i < 60; i++) /* rows that are never begun, in every page of them */
		podprof_profile_steps(1000 + 10 * i, 1001 + 10 * i);
	for (int i = 1; i < 10; i++)
		step(i);
	podprof_window_start("after the space");
	step(10);
	podprof_window_stop();
	podprof_window_stop();
	raise(SIGUSR2);
	pthread_barrier_init(&barrier, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], NULL, with_a_slot, &barrier))
			return 4;
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	podprof_range_push("the last range");
	podprof_range_pop();
	return 0;
}

static void flood(void)
{
	for (int i = 0; i < 200000; i++) {
		podprof_range_push("one of many");
		podprof_range_pop();
	}
}

/* More records than a small ring holds. With an argument the limit on file sizes is lowered to so many KiB after the claim, and a
 * file beyond it is SIGXFSZ for the application as ever. */
static int file_size(const char *kib)
{
	struct rlimit most;
	int status = 0;
	pid_t child;

	step(0);
	if (getrlimit(RLIMIT_FSIZE, &most))
		return 3;
	if (*kib)
		most.rlim_cur = strtoul(kib, NULL, 10) * 1024;
	if (*kib && setrlimit(RLIMIT_FSIZE, &most))
		return 3;
	flood();
	step(1);
	child = fork();
	if (!child) {
		FILE *f = tmpfile();
		_exit(!f || ftruncate(fileno(f), (off_t)most.rlim_cur + 1));
	}
	waitpid(child, &status, 0);
	say(WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ ? "child died of SIGXFSZ" : "child did not die");
	return 0;
}

/* A job that uses some MiB of its own beside a flood of marks, COUNT times 200 000 of them. */
static int memory(const char *count)
{
	size_t bytes = (size_t)env_number("GUEST_MIB", 16) << 20;
	char *own = malloc(bytes);

	if (!own)
		return 3;
	for (long i = 0; i < strtol(count, NULL, 10); i++) {
		podprof_step_begin(i);
		memset(own, (int)i, bytes);
		flood();
		podprof_step_end();
	}
	free(own);
	return 0;
}

/* The same without steps: each range is taken for one. */
static int memory_unmarked(const char *count)
{
	for (long i = 0; i < strtol(count, NULL, 10) * 50000; i++) {
		podprof_range_push("one of many");
		for (volatile int k = 0; k < 200; k++)
			;
		podprof_range_pop();
	}
	return 0;
}

static void *ten_calls(void *unused)
{
	(void)unused;
	for (int i = 0; i < 10; i++) {
		podprof_range_push("short");
		podprof_range_pop();
	}
	return NULL;
}

/* COUNT threads of ten calls each, eight at a time, one after the other without a pause. */
static int short_threads(const char *count)
{
	pthread_t thread[8];

	for (long i = 0; i < strtol(count, NULL, 10); i += 8) {
		for (int k = 0; k < 8; k++)
			if (pthread_create(&thread[k], NULL, ten_calls, NULL))
				return 4;
		for (int k = 0; k < 8; k++)
			pthread_join(thread[k], NULL);
	}
	return 0;
}

static int threads(const char *count)
{
	int rc;

	podprof_step_begin(0);
	rc = short_threads(count);
	podprof_step_end();
	return rc;
}

/* The same from when its test says so; then there is the file GUEST_STOP.through. */
static int threads_unread(const char *count)
{
	char path[512];
	int rc;

	step(0);
	while (!is_stopped())
		sleep_ms(2);
	podprof_step_begin(1);
	rc = short_threads(count);
	podprof_step_end();
	snprintf(path, sizeof path, "%s.through", getenv("GUEST_STOP"));
	close(open(path, O_WRONLY | O_CREAT, 0600));
	return rc;
}

/* Waits until its keeper is gone, then marks more than its ring holds. */
static int keeper_gone(const char *unused)
{
	(void)unused;
	step(0);
	while (!is_stopped())
		sleep_ms(2);
	for (int i = 0; i < 4; i++)
		flood();
	return 0;
}

/* What a child may call that does not know of its parent's rings. */
static void child_marks(void)
{
	podprof_step_begin(1000);
	podprof_range_push("child");
	podprof_mark("child");
	podprof_range_pop();
	podprof_step_end();
	podprof_window_start("child");
	podprof_range_push("child");
	podprof_range_pop();
	podprof_counter("child", 1);
	podprof_window_stop();
	podprof_profile_steps(2000, 2001);
}

static long clone_raw(void)
{
	return syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

static long clone_new_pids(void)
{
	long child = syscall(SYS_clone, SIGCHLD | CLONE_NEWPID, 0, 0, 0, 0);

	return child < 0 ? clone_raw() : child;
}

static long clone_files(void)
{
	return syscall(SYS_clone, SIGCHLD | CLONE_FILES, 0, 0, 0, 0);
}

static long fork_with_handlers(void)
{
	return fork();
}

static long (*const ways[])(void) = {fork_with_handlers, clone_raw, clone_new_pids, clone_files};

static void *forking_thread(void *arg)
{
	int i = *(int *)arg, status = 0;
	long child;

	podprof_range_push("thread");
	child = ways[i]();
	if (!child) {
		child_marks();
		return NULL; /* the child ends here, as its thread does */
	}
	podprof_range_pop();
	waitpid((pid_t)child, &status, 0);
	return status ? arg : NULL;
}

/* Children that libc's fork handlers never saw. They mark, fork themselves, and end in several ways. */
static int raw_fork(const char *unused)
{
	int wrong = 0;

	(void)unused;
	for (int i = 0; i < 8; i++) {
		int way = i / 2, status = 0;
		pthread_t thread;
		void *bad = NULL;
		long child;

		step(i);
		child = ways[way]();
		if (!child) {
			child_marks();
			child = ways[way]();
			if (!child)
				child_marks();
			else
				waitpid((pid_t)child, &status, 0);
			if (i % 2)
				exit(status != 0);
			_exit(status != 0);
		}
		waitpid((pid_t)child, &status, 0);
		wrong += status != 0;
		wrong += pthread_create(&thread, NULL, forking_thread, &way) || pthread_join(thread, &bad) || bad;
	}
	return wrong;
}

static const struct {
	const char *name;
	int (*run)(const char *argument);
} modes[] = {
        {"late_full", late_full}, {"file_size", file_size},           {"memory", memory},     {"keeper_gone", keeper_gone},
        {"threads", threads},     {"threads_unread", threads_unread}, {"raw_fork", raw_fork}, {"memory_unmarked", memory_unmarked},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof modes / sizeof modes[0]; i++)
		if (!strcmp(argv[1], modes[i].name)) {
			int rc = modes[i].run(argc > 2 ? argv[2] : "");

			if (!rc)
				say("is done");
			return rc;
		}
	fprintf(stderr, "usage: scarce MODE [ARGUMENT]\n");
	return 2;
}
