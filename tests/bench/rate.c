/* Emits marks at a steady rate from several threads and says how many: the load of rate.py. Usage: bench_rate THREADS
 * MARKS_PER_SECOND SECONDS. Threads spin between marks, so that each of them keeps its core busy, as ranks do. */
#include "core/podprof.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MOST_THREADS = 64, BURST = 64 };

struct emitter {
	pthread_t thread;
	double per_ns;
	int64_t begin, end;
	uint64_t marks;
};

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* What is due by now, at most BURST at once: a thread that did not run for a while catches up. */
static void *emit(void *arg)
{
	struct emitter *e = arg;
	int64_t now;

	while ((now = now_ns()) < e->begin)
		continue;
	for (; now < e->end; now = now_ns()) {
		uint64_t due = (uint64_t)((double)(now - e->begin) * e->per_ns);

		for (int i = 0; i < BURST && e->marks < due; i++, e->marks++)
			podprof_mark("an event of a busy host");
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static struct emitter e[MOST_THREADS];
	int threads = argc == 4 ? (int)strtol(argv[1], NULL, 10) : 0;
	double rate = argc == 4 ? strtod(argv[2], NULL) : 0, seconds = argc == 4 ? strtod(argv[3], NULL) : 0;
	uint64_t marks = 0;
	int64_t begin;

	if (threads < 1 || threads > MOST_THREADS || rate <= 0 || seconds <= 0) {
		fprintf(stderr, "usage: %s THREADS MARKS_PER_SECOND SECONDS\n", argv[0]);
		return 64;
	}
	podprof_mark("first");
	begin = now_ns() + 50000000;
	for (int i = 0; i < threads; i++) {
		e[i].per_ns = rate / 1e9 / threads;
		e[i].begin = begin;
		e[i].end = begin + (int64_t)(seconds * 1e9);
		if (pthread_create(&e[i].thread, NULL, emit, &e[i]))
			return 1;
	}
	for (int i = 0; i < threads; i++) {
		pthread_join(e[i].thread, NULL);
		marks += e[i].marks;
	}
	printf("%llu\n", (unsigned long long)marks + 1);
	return 0;
}
