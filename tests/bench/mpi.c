/* What a wrapper adds to a call of MPI, idle and recording, as multiples of one rdtsc: wrapped and bare call in turns, one run.
 * Skipped (77) unless PODPROF_BENCH=1. Run under mpirun -n 1 with fake_guest.so (PP_FAKE_BENCH: a ring that is always drained)
 * and libpodprof-mpi.so preloaded. */
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

/* The calls by both ways: through the wrapper, and what stands behind it. */
#define FUNCTION(symbol) __typeof__(&MPI_##symbol) symbol
struct functions {
	FUNCTION(Allreduce);
	FUNCTION(Barrier);
	FUNCTION(Put);
	FUNCTION(Win_flush);
	FUNCTION(Fetch_and_op);
	FUNCTION(Start);
	FUNCTION(Wait);
	FUNCTION(Send);
	FUNCTION(Recv);
	FUNCTION(Isend);
	FUNCTION(Irecv);
	FUNCTION(Waitall);
};

static MPI_Win win;
static MPI_Request persistent;

static void allreduce(const struct functions *f)
{
	double in = 1, out;

	for (int i = 0; i < CALLS; i++)
		f->Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
}

/* Two sizes in turns: a pattern of two. */
static void allreduce_world(const struct functions *f)
{
	double in[2] = {1, 2}, out[2];

	for (int i = 0; i < CALLS; i++)
		f->Allreduce(in, out, 1 + i % 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void barrier(const struct functions *f)
{
	for (int i = 0; i < CALLS; i++)
		f->Barrier(MPI_COMM_SELF);
}

static void put_and_flush(const struct functions *f)
{
	double value = 1;

	for (int i = 0; i < CALLS; i++) {
		f->Put(&value, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, win);
		f->Win_flush(0, win);
	}
}

static void fetch_and_op(const struct functions *f)
{
	int64_t one = 1, was;

	for (int i = 0; i < CALLS; i++)
		f->Fetch_and_op(&one, &was, MPI_INT64_T, 0, 1, MPI_SUM, win);
}

static void start_and_wait(const struct functions *f)
{
	for (int i = 0; i < CALLS; i++) {
		f->Start(&persistent);
		f->Wait(&persistent, MPI_STATUS_IGNORE);
	}
}

static void send_and_recv(const struct functions *f)
{
	int out = 1, in;

	for (int i = 0; i < CALLS; i++) {
		f->Send(&out, 1, MPI_INT, 0, 7, MPI_COMM_SELF);
		f->Recv(&in, 1, MPI_INT, 0, 7, MPI_COMM_SELF, MPI_STATUS_IGNORE);
	}
}

/* Four messages that are complete when the Waitall begins. */
static void exchange(const struct functions *f)
{
	int out = 1, in[4];
	MPI_Request r[8];

	for (int i = 0; i < CALLS; i++) {
		for (int k = 0; k < 4; k++)
			f->Irecv(&in[k], 1, MPI_INT, 0, k, MPI_COMM_SELF, &r[k]);
		for (int k = 0; k < 4; k++)
			f->Isend(&out, 1, MPI_INT, 0, k, MPI_COMM_SELF, &r[4 + k]);
		f->Waitall(8, r, MPI_STATUSES_IGNORE);
	}
}

static const struct bench_case {
	const char *what;
	void (*run)(const struct functions *f);
	int calls;  /* in one turn of its loop */
	int is_new; /* no budget holds it yet */
} cases[] = {
        {"MPI_Allreduce on COMM_SELF", allreduce, 1},
        {"MPI_Barrier on COMM_SELF", barrier, 1},
        {"MPI_Put, MPI_Win_flush, each", put_and_flush, 2},
        {"MPI_Fetch_and_op", fetch_and_op, 1},
        {"MPI_Start, MPI_Wait, each", start_and_wait, 2},
        {"MPI_Send, MPI_Recv, each", send_and_recv, 2},
        {"8 x MPI_Isend or MPI_Irecv, MPI_Waitall, each", exchange, 9, 1},
};

static double cost(const struct bench_case *c, const struct functions *f)
{
	double t = bench_ns();

	c->run(f);
	return (bench_ns() - t) / CALLS / c->calls;
}

/* Added cost over one rdtsc, median over rounds in which bare and wrapped follow each other; 1 if it is above the budget. */
static int measure(const struct bench_case *c, const char *how, const struct functions *bare, const struct functions *wrapped,
                   double budget)
{
	static double added[ROUNDS], ns[ROUNDS], rs[ROUNDS];
	char name[64], note[64];
	struct bench_figure f = {.bench = "mpi", .what = name, .unit = "R", .gate = c->is_new ? 0 : budget, .note = note};
	double r;

	for (int i = 0; i < ROUNDS; i++) {
		rs[i] = bench_rdtsc(CALLS);
		ns[i] = cost(c, bare);
		added[i] = (cost(c, wrapped) - ns[i]) / rs[i];
	}
	bench_take(&f, rs, ROUNDS, 0.25, 0.5, 0.75);
	r = f.value;
	bench_take(&f, ns, ROUNDS, 0.25, 0.5, 0.75);
	snprintf(note, sizeof(note), "R %.1f ns, bare call %.1f ns", r, f.value);
	snprintf(name, sizeof(name), "%s, %s, added", c->what, how);
	bench_take(&f, added, ROUNDS, 0.25, 0.5, 0.75);
	return bench_print(&f);
}

static int measure_all(const char *how, const struct functions *bare, const struct functions *wrapped, double budget)
{
	int missed = 0;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		missed += measure(&cases[i], how, bare, wrapped, budget);
	return missed;
}

/* Steps from collectives: what it adds to a call that is not recorded. 1: above the budget, or no step was seen. */
static int measure_pattern(const struct functions *bare, const struct functions *wrapped)
{
	static const struct bench_case c = {"MPI_Allreduce on COMM_WORLD", allreduce_world, 1};
	const struct pp_fake *fake = dlsym(RTLD_DEFAULT, "pp_fake");
	int missed;

	fake->pattern_on(1);
	missed = measure(&c, "idle, --step-rule collectives", bare, wrapped, 1.5);
	missed |= fake->pattern_steps() < (uint64_t)CALLS / 2 * (ROUNDS - 1);
	fake->pattern_on(0);
	return missed;
}

/* Of the library itself; 0 where one is missing. */
static int find_bare(struct functions *f)
{
	void *library = dlopen("libmpi.so.40", RTLD_LAZY | RTLD_NOLOAD);

	if (!library)
		return 0;
#define FIND(symbol) f->symbol = (__typeof__(f->symbol))dlsym(library, "PMPI_" #symbol)
	FIND(Allreduce);
	FIND(Barrier);
	FIND(Put);
	FIND(Win_flush);
	FIND(Fetch_and_op);
	FIND(Start);
	FIND(Wait);
	FIND(Send);
	FIND(Recv);
	FIND(Isend);
	FIND(Irecv);
	FIND(Waitall);
	return f->Allreduce && f->Barrier && f->Put && f->Win_flush && f->Fetch_and_op && f->Start && f->Wait && f->Send &&
	       f->Recv && f->Isend && f->Irecv && f->Waitall;
}

int main(int argc, char **argv)
{
	static const struct functions wrapped = {MPI_Allreduce,    MPI_Barrier, MPI_Put,   MPI_Win_flush,
	                                         MPI_Fetch_and_op, MPI_Start,   MPI_Wait,  MPI_Send,
	                                         MPI_Recv,         MPI_Isend,   MPI_Irecv, MPI_Waitall};
	const struct pp_fake *fake = dlsym(RTLD_DEFAULT, "pp_fake");
	const char *asked = getenv("PODPROF_BENCH");
	struct functions bare;
	int64_t *memory;
	int bad;

	if (!asked || !*asked)
		return 77;
	if (!fake || !find_bare(&bare)) {
		fprintf(stderr, "needs fake_guest.so preloaded and Open MPI\n");
		return 77;
	}
	MPI_Init(&argc, &argv);
	MPI_Win_allocate(64, 8, MPI_INFO_NULL, MPI_COMM_SELF, &memory, &win);
	memset(memory, 0, 64);
	MPI_Win_lock_all(0, win);
	MPI_Send_init(memory, 1, MPI_INT64_T, MPI_PROC_NULL, 0, MPI_COMM_SELF, &persistent);
	fake->record_on(0);
	bad = measure_all("idle", &bare, &wrapped, 1.5);
	bad |= measure_pattern(&bare, &wrapped);
	fake->record_on(1);
	bad |= measure_all("recording", &bare, &wrapped, 2.5);
	if (fake->counted() < (uint64_t)7 * CALLS * (ROUNDS - 1)) {
		fprintf(stderr, "records are missing: %llu\n", (unsigned long long)fake->counted());
		bad = 1;
	}
	MPI_Request_free(&persistent);
	MPI_Win_unlock_all(win);
	MPI_Win_free(&win);
	MPI_Finalize();
	return bad;
}
