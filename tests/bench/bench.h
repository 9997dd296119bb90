/* What all benches share: the row that scripts/performance reads, quantiles, and medians of ratios to rdtsc, where each
 * repetition stands between two loops of bare rdtsc. */
#pragma once

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "core/base/tick.h"

enum { BENCH_REPS = 31, BENCH_CALLS = 20000 };

/* Benches run only when asked: other work on the machine blurs them. Return 77 where this says 0. */
static inline int bench_asked(void)
{
	const char *asked = getenv("PODPROF_BENCH");

	if (asked && *asked)
		return 1;
	printf("skipped: set PODPROF_BENCH=1 on a quiet machine\n");
	return 0;
}

/* A spool of the bench's own, with its files. */
static inline void bench_remove(const char *spool)
{
	struct dirent *e;
	char path[512];
	DIR *d = opendir(spool);

	while (d && (e = readdir(d))) {
		snprintf(path, sizeof(path), "%s/%s", spool, e->d_name);
		unlink(path);
	}
	if (d)
		closedir(d);
	rmdir(spool);
}

/* A host of virtual machines supplies memory at its first touch, in up to a second for a pod's: that is the host's time. */
static inline void bench_warm(void)
{
	const size_t bytes = (size_t)2 << 30;
	char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return;
	madvise(p, bytes, MADV_HUGEPAGE);
	for (size_t i = 0; i < bytes; i += 4096)
		p[i] = 1;
	munmap(p, bytes);
}

static inline double bench_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static inline double bench_rdtsc(int calls)
{
	volatile uint64_t keep;
	uint64_t sum = 0;
	double begin = bench_ns();

	for (int i = 0; i < calls; i++)
		sum += pp_tick_now();
	keep = sum;
	(void)keep;
	return (bench_ns() - begin) / calls;
}

static inline int bench_order(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

struct bench_result {
	double ns, ratio, low, high; /* medians; quartiles of the ratio */
};

/* `between` runs outside the measured time, before each repetition. */
static inline struct bench_result bench_run(void (*run)(int calls), void (*between)(void))
{
	double ratio[BENCH_REPS], ns[BENCH_REPS];

	for (int r = 0; r < BENCH_REPS; r++) {
		double before, after, begin, took;

		if (between)
			between();
		before = bench_rdtsc(BENCH_CALLS);
		begin = bench_ns();
		run(BENCH_CALLS);
		took = (bench_ns() - begin) / BENCH_CALLS;
		after = bench_rdtsc(BENCH_CALLS);
		ns[r] = took;
		ratio[r] = took / ((before + after) / 2);
	}
	qsort(ratio, BENCH_REPS, sizeof(double), bench_order);
	qsort(ns, BENCH_REPS, sizeof(double), bench_order);
	return (struct bench_result){ns[BENCH_REPS / 2], ratio[BENCH_REPS / 2], ratio[BENCH_REPS / 4], ratio[BENCH_REPS * 3 / 4]};
}

/* One measured figure: its median, its spread (quartiles, or least and most), and its limit. */
struct bench_figure {
	const char *bench, *what, *unit;
	double value, low, high;
	double gate;      /* 0: none, the figure is shown for comparison */
	int at_least;     /* the gate is the least allowed, not the most */
	const char *note; /* may be NULL */
};

/* Sort `v` and take quantiles of it as value, low and high. */
static inline void bench_take(struct bench_figure *f, double *v, int n, double low, double middle, double high)
{
	qsort(v, (size_t)n, sizeof(*v), bench_order);
	f->value = v[(int)(middle * (n - 1))];
	f->low = v[(int)(low * (n - 1))];
	f->high = v[(int)(high * (n - 1))];
}

/* Print a figure as one line of columns; 1 if its gate is missed. */
static inline int bench_print(const struct bench_figure *f)
{
	int missed = f->gate > 0 && (f->at_least ? f->value < f->gate : f->value > f->gate);
	char gate[32] = "";

	if (f->gate > 0)
		snprintf(gate, sizeof(gate), "%s %g", f->at_least ? ">=" : "<=", f->gate);
	printf("row | %-8s | %-58s | %9.4g | %9.4g | %9.4g | %-9s | %-8s | %-6s | %s\n", f->bench, f->what, f->value, f->low,
	       f->high, f->unit, gate, f->gate > 0 ? (missed ? "missed" : "ok") : "", f->note ? f->note : "");
	fflush(stdout);
	return missed;
}

/* One row of a cost in units of rdtsc; 1 if the gate is missed. */
static inline int bench_row(const char *what, struct bench_result r, double gate)
{
	char note[32];
	struct bench_figure f = {"hot", what, "R", r.ratio, r.low, r.high, gate, 0, note};

	snprintf(note, sizeof(note), "%.1f ns", r.ns);
	return bench_print(&f);
}
