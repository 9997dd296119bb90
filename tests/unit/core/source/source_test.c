/* A source with a drain thread of its own, as a device's is, added to the real collector: what its callbacks hand over reaches the
 * ring when recording goes off, by that thread; a flush returns by its deadline. The program runs itself with the collector. */
#include "core/source/source.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/now.h"
#include "core/podprof.h"
#include "core/ring/drain.h"
#include "core/source/services.h"
#include "tests/test.h"

enum { HELD = 64, LONGEST_MS = 5000 };

static const struct podprof_collector *collector;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;
static pthread_t thread;
static uint64_t held[HELD]; /* what the device has said and nobody has written */
static int count, is_writing, is_over, is_stuck, windows_on, windows_off, threads_ended, is_timed_out;

static void *drain(void *arg)
{
	pthread_mutex_lock(&lock);
	while (!is_over || count) {
		while (count && !is_stuck) {
			struct pp_record r = {
			        .kind = PP_RECORD_MARK, .length = 6, .range = {.id = held[--count], .text = "kernel"}};

			r.tick = held[count];
			is_writing = 1;
			pthread_mutex_unlock(&lock);
			collector->put(&r, NULL, 0);
			pthread_mutex_lock(&lock);
			is_writing = 0;
			pthread_cond_broadcast(&changed);
		}
		if (!is_over)
			pthread_cond_wait(&changed, &lock);
	}
	pthread_mutex_unlock(&lock);
	return arg;
}

static void window(int on)
{
	windows_on += on;
	windows_off += !on;
}

static void flush(int64_t deadline_ms)
{
	struct timespec until = {.tv_sec = deadline_ms / 1000, .tv_nsec = deadline_ms % 1000 * 1000000};
	int rc = 0;

	CHECK(deadline_ms < pp_now_ms() + LONGEST_MS);
	pthread_mutex_lock(&lock);
	pthread_cond_broadcast(&changed);
	while ((count || is_writing) && !rc)
		rc = pthread_cond_timedwait(&changed, &lock, &until);
	is_timed_out |= rc == ETIMEDOUT;
	pthread_mutex_unlock(&lock);
}

static void thread_end(void)
{
	threads_ended++;
}

static void stop(int64_t deadline_ms)
{
	(void)deadline_ms;
	if (!is_timed_out || !threads_ended)
		_exit(2);
	pthread_mutex_lock(&lock);
	is_stuck = 0;
	is_over = 1;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	pthread_join(thread, NULL);
}

static const struct pp_source_ops device = {
        .name = "device", .window = window, .flush = flush, .thread_end = thread_end, .stop = stop};

static void start(void)
{
	pthread_condattr_t clock;
	sigset_t all, had;

	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&changed, &clock);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &had);
	CHECK_INT(pthread_create(&thread, NULL, drain, NULL), 0);
	pthread_sigmask(SIG_SETMASK, &had, NULL);
}

static void device_says(uint64_t id)
{
	pthread_mutex_lock(&lock);
	if (*collector->recording && count < HELD)
		held[count++] = id;
	pthread_mutex_unlock(&lock);
}

static void *short_thread(void *arg)
{
	podprof_range_push("in a thread that ends");
	podprof_range_pop();
	return arg;
}

/* Steps 2 and 3 are the window, 1 and 4 its edge steps. */
static int train(void)
{
	pthread_t other;

	podprof_step_begin(0);
	collector = dlsym(RTLD_DEFAULT, "podprof_collector");
	CHECK(collector && collector->size == sizeof(*collector));
	if (!collector)
		return 1;
	start();
	CHECK_INT(collector->add_source(&device), 0);
	CHECK_INT(collector->add_source(&device), 0); /* once */
	for (int64_t step = 0; step < 8; step++) {
		podprof_step_begin(step);
		device_says((uint64_t)step + 1);
		CHECK_INT(pthread_create(&other, NULL, short_thread, NULL), 0);
		pthread_join(other, NULL);
		podprof_step_end();
	}
	CHECK_INT(windows_on, 1);
	CHECK_INT(windows_off, 1);
	CHECK_INT(count, 0);
	pthread_mutex_lock(&lock);
	is_stuck = 1; /* a device that does not answer: the process ends all the same, see stop() */
	held[count++] = 0;
	pthread_mutex_unlock(&lock);
	return test_failures != 0;
}

static uint64_t seen;

static void on_records(void *context, uint32_t slot, const struct pp_record *r, uint32_t records)
{
	(void)context;
	(void)slot;
	for (uint32_t i = 0; i < records; i += 1 + r[i].more)
		if (r[i].kind == PP_RECORD_MARK && !memcmp(r[i].range.text, "kernel", 6))
			seen |= UINT64_C(1) << r[i].range.id;
}

static void read_ring(const char *spool)
{
	static const struct pp_drain_sink sink = {.records = on_records};
	struct pp_drain *d = NULL;
	char path[512] = "";
	struct dirent *e;
	DIR *dir = opendir(spool);
	struct pp_err err;

	while (dir && (e = readdir(dir)))
		if (strstr(e->d_name, ".ring"))
			snprintf(path, sizeof(path), "%s/%s", spool, e->d_name);
	closedir(dir);
	CHECK_INT(pp_drain_open(path, PP_DRAIN_PRIVATE, &d, &err), 0);
	if (!d)
		return;
	pp_drain_run(d, &sink);
	pp_drain_close(d);
	CHECK_INT(seen, 0x3c); /* of steps 1 to 4 */
}

int main(int argc, char **argv)
{
	char spool[] = "/tmp/podprof-source-XXXXXX", command[600];
	int status = 1;
	pid_t child;

	if (argc < 2)
		return 1;
	if (!strcmp(argv[1], "run"))
		return train();
	if (!mkdtemp(spool))
		return 1;
	child = fork();
	if (!child) {
		setenv("PODPROF_SPOOL", spool, 1);
		setenv("PODPROF_STEPS", "2:4", 1);
		setenv("PODPROF_WAIT", "0", 1);
		setenv("LD_PRELOAD", argv[1], 1);
		execl("/proc/self/exe", argv[0], "run", (char *)NULL);
		_exit(1);
	}
	waitpid(child, &status, 0);
	CHECK_INT(status, 0);
	read_ring(spool);
	snprintf(command, sizeof(command), "rm -rf '%s'", spool);
	CHECK_INT(system(command), 0);
	return test_failures != 0;
}
