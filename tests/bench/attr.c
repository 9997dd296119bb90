/* ns per interval of the windowed sweep: nested ranges on 1 and on 4 threads, in steps of 1000 and as one window. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "core/capture/capture.h"
#include "core/capture/thread.h"
#include "core/ring/intern.h"
#include "core/step/step_attr.h"
#include "tests/bench/bench.h"

enum { SPANS = 1000000, REPEATS = 7 };

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t fill_thread(struct pp_thread *thread, size_t spans, const uint32_t *name)
{
	int64_t at = 0;

	thread->span = calloc(spans, sizeof(*thread->span));
	if (!thread->span)
		exit(1);
	for (size_t i = 0; i + 3 < spans; i += 4, at += 1000) { /* a range, two in it, one behind */
		static const int64_t begin[] = {0, 100, 400, 800}, end[] = {700, 300, 600, 950};

		for (int k = 0; k < 4; k++)
			thread->span[thread->spans++] =
			        (struct pp_span){.begin = at + begin[k], .end = at + end[k], .name = name[k]};
	}
	thread->is_main = 1;
	thread->last = at;
	return at;
}

static void measure(const struct pp_rank *rank, const struct pp_steps *steps, const struct pp_intern *names, size_t count)
{
	char what[64];
	struct bench_figure f = {.bench = "attr", .what = what, .unit = "ns"};
	double ns[REPEATS];

	for (int i = 0; i < REPEATS; i++) {
		struct pp_attr attr;
		struct pp_err err;
		int64_t begin = now_ns();

		if (pp_attr_rank(rank, 0, steps, 1, names, PP_ATTR_KEEP_ALL, &attr, &err) < 0)
			exit(1);
		ns[i] = (double)(now_ns() - begin) / SPANS;
		pp_attr_release(&attr);
	}
	snprintf(what, sizeof(what), "sweep, per interval: %zu threads, %zu steps", rank->threads, count);
	bench_take(&f, ns, REPEATS, 0, 0.5, 1);
	bench_print(&f);
}

static int measure_all(void)
{
	struct pp_intern *names = pp_intern_new();
	uint32_t name[4] = {pp_intern_put(names, "forward", 7), pp_intern_put(names, "input", 5), pp_intern_put(names, "wobble", 6),
	                    pp_intern_put(names, "save", 4)};

	for (size_t threads = 1; threads <= 4; threads += 3) {
		for (size_t steps = 1; steps <= 1000; steps *= 1000) {
			struct pp_thread thread[4] = {0};
			struct pp_rank rank = {.thread = thread, .threads = threads};
			struct pp_step_cell *cell = calloc(steps, sizeof(*cell));
			struct pp_step_cell none = {0};
			struct pp_steps table = {.steps = steps, .cell = cell, .before = &none, .after = &none};
			int64_t end = 0;

			for (size_t t = 0; t < threads; t++)
				end = fill_thread(&thread[t], SPANS / threads, name);
			for (size_t i = 0; i < steps; i++)
				cell[i] = (struct pp_step_cell){.begin = end / (int64_t)steps * (int64_t)i,
				                                .end = end / (int64_t)steps * (int64_t)(i + 1),
				                                .present = 1};
			measure(&rank, &table, names, steps);
			for (size_t t = 0; t < threads; t++)
				free(thread[t].span);
			free(cell);
		}
	}
	pp_intern_free(names);
	return 0;
}

int main(void)
{
	return bench_asked() ? measure_all() : 77;
}
