/* What a wrapper adds to a call of MPI, idle and recording, as multiples of one rdtsc: wrapped and bare call in turns, one run.
 * Skipped (77) unless PODPROF_BENCH=1. Run under mpirun -n 1 with fake_guest.so (PP_FAKE_BENCH: a ring that is always drained) and
 * libpodprof-mpi.so preloaded. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/bench/bench.h"
#include "tests/mpi/fake.h"

int pp_tick_kind = PP_TICK_TSC;

enum { CALLS = 2000, ROUNDS = 301 };

typedef int allreduce_fn(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm);
typedef int barrier_fn(MPI_Comm);

static double allreduce_cost(allreduce_fn *f)
{
	double in = 1, out, t = bench_ns();

	for (int i = 0; i < CALLS; i++)
		f(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
	return (bench_ns() - t) / CALLS;
}

static double barrier_cost(barrier_fn *f)
{
	double t = bench_ns();

	for (int i = 0; i < CALLS; i++)
		f(MPI_COMM_SELF);
	return (bench_ns() - t) / CALLS;
}

/* Added cost over one rdtsc, median over rounds in which bare and wrapped follow each other; how many are above the budget. */
static int measure(const char *what, allreduce_fn *bare_a, barrier_fn *bare_b, double budget)
{
	static double a[ROUNDS], b[ROUNDS], ns[ROUNDS], rs[ROUNDS];
	char name[64], note[64];
	struct bench_figure f = {.bench = "mpi", .what = name, .unit = "R", .gate = budget, .note = note};
	double r;
	int missed;

	for (int i = 0; i < ROUNDS; i++) {
		double tick = bench_rdtsc(CALLS), bare = allreduce_cost(bare_a);

		rs[i] = tick;
		ns[i] = bare;
		a[i] = (allreduce_cost(MPI_Allreduce) - bare) / tick;
		bare = barrier_cost(bare_b);
		b[i] = (barrier_cost(MPI_Barrier) - bare) / tick;
	}
	snprintf(name, sizeof(name), "MPI_Allreduce on COMM_SELF, %s, added", what);
	bench_take(&f, rs, ROUNDS, 0.25, 0.5, 0.75);
	r = f.value;
	bench_take(&f, ns, ROUNDS, 0.25, 0.5, 0.75);
	snprintf(note, sizeof(note), "R %.1f ns, bare call %.1f ns", r, f.value);
	bench_take(&f, a, ROUNDS, 0.25, 0.5, 0.75);
	missed = bench_print(&f);
	snprintf(name, sizeof(name), "MPI_Barrier on COMM_SELF, %s, added", what);
	note[0] = '\0';
	bench_take(&f, b, ROUNDS, 0.25, 0.5, 0.75);
	return missed + bench_print(&f);
}

int main(int argc, char **argv)
{
	const struct pp_fake *fake = dlsym(RTLD_DEFAULT, "pp_fake");
	void *library = dlopen("libmpi.so.40", RTLD_LAZY | RTLD_NOLOAD);
	allreduce_fn *bare_a = library ? (allreduce_fn *)dlsym(library, "PMPI_Allreduce") : NULL;
	barrier_fn *bare_b = library ? (barrier_fn *)dlsym(library, "PMPI_Barrier") : NULL;
	const char *asked = getenv("PODPROF_BENCH");
	int bad;

	if (!asked || !*asked)
		return 77;
	if (!fake || !bare_a || !bare_b) {
		fprintf(stderr, "needs fake_guest.so preloaded and Open MPI\n");
		return 77;
	}
	MPI_Init(&argc, &argv);
	fake->record_on(0);
	bad = measure("idle", bare_a, bare_b, 1.5);
	fake->record_on(1);
	bad |= measure("recording", bare_a, bare_b, 2.5);
	if (fake->counted() < (uint64_t)2 * CALLS * (ROUNDS - 1)) {
		fprintf(stderr, "records are missing: %llu\n", (unsigned long long)fake->counted());
		bad = 1;
	}
	MPI_Finalize();
	return bad;
}
