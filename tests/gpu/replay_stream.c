/* Streams of the driver's stand-in: a thread each, which runs its kernels in the order of their launches. Start and end of
 * a kernel follow from launches and from other kernels, not from when the thread has a core, so that they are exact on a
 * busy machine. Each becomes a record of CUPTI's stand-in when it has ended. Used by the stand-in of NCCL and by
 * tests/truth/device.c. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tests/gpu/replay.h"

enum { STREAMS = 8, QUEUE = 4096, LAUNCH_NS = 4000 };

struct launch {
	struct replay_kernel kernel;
	uint64_t called, returned;
	const struct stream *other; /* NULL, or what it waits for: as many of its kernels */
	uint64_t after;
	uint32_t thread, correlation;
	int is_recorded; /* CUPTI was on when it was launched */
};

static struct stream {
	pthread_t thread;
	struct launch queue[QUEUE];
	uint64_t launched, ended; /* kernels */
	uint64_t free_at;         /* end of the last one */
	uint64_t ends[QUEUE];
	int is_up;
	const struct stream *other; /* of the next launch */
	uint64_t after;
} streams[STREAMS];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static uint32_t correlation;
extern _Atomic(replay_hook) replay_hook_of_cupti;
extern _Atomic int replay_cupti_is_on;

void replay_launch(const struct replay_kernel *kernel);
void replay_stream_wait(unsigned stream, unsigned other);
void replay_synchronize(unsigned stream);

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void sleep_until(uint64_t ns)
{
	struct timespec t = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};

	while (clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Of a launch its call, at once (start 0), and its kernel, when it has ended. */
static void report(const struct launch *l, unsigned number, uint64_t start, uint64_t end)
{
	struct replay_row row = {.kind = REPLAY_KERNEL,
	                         .stream = number,
	                         .part = start ? REPLAY_OF_DEVICE : REPLAY_OF_HOST,
	                         .delay = start ? start - l->called : 0,
	                         .ns = end - start,
	                         .thread = l->thread,
	                         .correlation = l->correlation,
	                         .grid = {8, 1, 1},
	                         .block = {256, 1, 1}};
	replay_hook hook = atomic_load(&replay_hook_of_cupti);

	row.kernel = l->kernel.name;
	if (hook && l->is_recorded)
		hook(&row, l->called, l->returned);
}

static void note(const struct launch *l, uint64_t start, uint64_t end)
{
	static FILE *file;
	static pthread_mutex_t writing = PTHREAD_MUTEX_INITIALIZER;
	const char *path = getenv("REPLAY_KERNELS");

	pthread_mutex_lock(&writing);
	if (path && !file)
		file = fopen(path, "we");
	if (file) {
		fprintf(file, "%u %llu %llu %llu\n", l->correlation, (unsigned long long)l->called, (unsigned long long)start,
		        (unsigned long long)end);
		fflush(file);
	}
	pthread_mutex_unlock(&writing);
}

static void run(struct stream *s, unsigned number, struct launch l)
{
	uint64_t start, end;

	pthread_mutex_lock(&lock);
	start = later(l.returned + LAUNCH_NS, s->free_at);
	while (l.other && l.other->ended < l.after)
		pthread_cond_wait(&changed, &lock);
	if (l.other && l.after)
		start = later(start, l.other->ends[(l.after - 1) % QUEUE]);
	pthread_mutex_unlock(&lock);
	end = l.kernel.end ? l.kernel.end(l.kernel.arg, start) : start + l.kernel.ns;
	sleep_until(end);
	report(&l, number, start, end);
	note(&l, start, end);
	pthread_mutex_lock(&lock);
	s->free_at = s->ends[s->ended % QUEUE] = end;
	s->ended++;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

static void *work(void *arg)
{
	struct stream *s = arg;

	for (;;) {
		struct launch next;

		pthread_mutex_lock(&lock);
		while (s->ended == s->launched)
			pthread_cond_wait(&changed, &lock);
		next = s->queue[s->ended % QUEUE];
		pthread_mutex_unlock(&lock);
		run(s, (unsigned)(s - streams), next);
	}
	return NULL;
}

static void fail(const char *what)
{
	fprintf(stderr, "replay: %s\n", what);
	exit(9);
}

void replay_launch(const struct replay_kernel *kernel)
{
	struct stream *s = &streams[kernel->stream % STREAMS];
	struct launch *l;

	pthread_mutex_lock(&lock);
	if (!s->is_up && pthread_create(&s->thread, NULL, work, s))
		fail("no thread for a stream");
	s->is_up = 1;
	if (s->launched - s->ended == QUEUE)
		fail("too many kernels on a stream");
	l = &s->queue[s->launched % QUEUE];
	*l = (struct launch){
	        .kernel = *kernel, .called = now_ns(), .thread = (uint32_t)syscall(SYS_gettid), .correlation = ++correlation};
	l->other = s->other;
	l->after = s->after;
	s->other = NULL;
	l->is_recorded = atomic_load(&replay_cupti_is_on);
	l->returned = now_ns();
	report(l, (unsigned)(s - streams), 0, 0);
	s->launched++;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

void replay_stream_wait(unsigned stream, unsigned other)
{
	struct stream *s = &streams[stream % STREAMS], *o = &streams[other % STREAMS];

	pthread_mutex_lock(&lock);
	s->other = o;
	s->after = o->launched;
	pthread_mutex_unlock(&lock);
}

void replay_synchronize(unsigned stream)
{
	struct stream *s = &streams[stream % STREAMS];
	struct replay_row row = {.kind = REPLAY_SYNC, .stream = stream};
	replay_hook hook = atomic_load(&replay_hook_of_cupti);
	uint64_t called = now_ns(), all;

	pthread_mutex_lock(&lock);
	all = s->launched;
	while (s->ended < all)
		pthread_cond_wait(&changed, &lock);
	row.correlation = ++correlation;
	pthread_mutex_unlock(&lock);
	if (hook)
		hook(&row, called, now_ns());
}
