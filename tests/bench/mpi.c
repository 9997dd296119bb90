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

static double quantile(double *v, int n, double q)
{
	qsort(v, (size_t)n, sizeof *v, bench_order);
	return v[(int)(q * (n - 1))];
}

/* Added cost over one rdtsc, median over rounds in which bare and wrapped follow each other; 1 if it is above the budget. */
static int measure(const char *what, allreduce_fn *bare_a, barrier_fn *bare_b, double budget)
{
	static double a[ROUNDS], b[ROUNDS], ns[ROUNDS], rs[ROUNDS];
	double ma, mb;

	for (int i = 0; i < ROUNDS; i++) {
		double r = bench_rdtsc(CALLS), bare = allreduce_cost(bare_a);

		rs[i] = r;
		ns[i] = bare;
		a[i] = (allreduce_cost(MPI_Allreduce) - bare) / r;
		bare = barrier_cost(bare_b);
		b[i] = (barrier_cost(MPI_Barrier) - bare) / r;
	}
	ma = quantile(a, ROUNDS, 0.5);
	mb = quantile(b, ROUNDS, 0.5);
	printf("mpi wrapper, %-9s allreduce adds %.2f R (quartiles %.2f..%.2f), barrier %.2f R (%.2f..%.2f), budget %.1f (R %.1f "
	       "ns, bare allreduce %.1f ns)\n",
	       what, ma, quantile(a, ROUNDS, 0.25), quantile(a, ROUNDS, 0.75), mb, quantile(b, ROUNDS, 0.25),
	       quantile(b, ROUNDS, 0.75), budget, quantile(rs, ROUNDS, 0.5), quantile(ns, ROUNDS, 0.5));
	return ma > budget || mb > budget;
}

int main(int argc, char **argv)
{
	const struct pp_fake *fake = dlsym(RTLD_DEFAULT, "pp_fake");
	void *library = dlopen("libmpi.so.40", RTLD_LAZY | RTLD_NOLOAD);
	allreduce_fn *bare_a = library ? (allreduce_fn *)dlsym(library, "PMPI_Allreduce") : NULL;
	barrier_fn *bare_b = library ? (barrier_fn *)dlsym(library, "PMPI_Barrier") : NULL;
	const char *asked = getenv("PODPROF_BENCH");
	int bad;

	if (!asked || strcmp(asked, "1"))
		return 77;
	if (!fake || !bare_a || !bare_b) {
		fprintf(stderr, "needs fake_guest.so preloaded and Open MPI\n");
		return 77;
	}
	MPI_Init(&argc, &argv);
	fake->record_on(0);
	bad = measure("idle:", bare_a, bare_b, 1.5);
	fake->record_on(1);
	bad |= measure("recording:", bare_a, bare_b, 2.5);
	if (fake->counted() < (uint64_t)2 * CALLS * (ROUNDS - 1)) {
		fprintf(stderr, "records are missing: %llu\n", (unsigned long long)fake->counted());
		bad = 1;
	}
	MPI_Finalize();
	return bad;
}
