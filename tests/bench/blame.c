/* What the graph and blame take per row of the ledger (an arrival of a rank in an operation), on one core: 8 ranks and a million
 * collectives, of all ranks; and the same rows with chains over two communicators, and with messages. Budget: 100 ns. Runs only
 * with PODPROF_BENCH=1. */
#include "aggregate/tools/tools.h"
#include "tests/bench/bench.h"
#include "tests/unit/aggregate/pod_made.h"

enum { SKIP = 77, RANKS = 8, STEPS = 1000, PER_STEP = 1000, REPS = 5, US = 1000, GATE = 100 };
enum kind { WORLD, CHAINS, MESSAGES };

static double cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static uint32_t draw(uint32_t below)
{
	static uint32_t seed = 1;

	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % below;
}

static void call(struct pp_made_job *m, enum kind kind, size_t k)
{
	if (kind == WORLD || k % 10 == 0) {
		pp_made_collective(m, 1, "MPI_Allreduce", 8, 5 * US);
	} else if (kind == CHAINS) { /* as many rows as one collective of all */
		pp_made_collective(m, 2 + k % 2, "MPI_Allreduce", 8, 5 * US);
		pp_made_collective(m, 3 - k % 2, "MPI_Allreduce", 8, 5 * US);
	} else {
		for (size_t r = 0; r < RANKS / 2; r++) {
			size_t other = (r * 2 + 1 + k % 3 * 2) % RANKS;

			pp_made_message(m, r * 2, other, 1, 8, 5 * US, (int)(k & 1));
		}
	}
}

static struct pp_dataset make(enum kind kind)
{
	const int32_t a[] = {0, 1, 2, 3}, b[] = {3, 4, 5, 6, 7};
	struct pp_made_job m;

	pp_made_begin(&m, RANKS, RANKS, 0, STEPS);
	pp_made_communicator(&m, "A", a, 4);
	pp_made_communicator(&m, "B", b, 5);
	m.bound_ns = 100;
	for (size_t s = 0; s < STEPS; s++) {
		pp_made_begin_all(&m, s);
		for (size_t k = 0; k < PER_STEP; k++) {
			for (size_t r = 0; r < RANKS; r++)
				pp_made_work(&m, r, PP_CATEGORY_HOST_COMPUTE, 50 * US + draw(20 * US));
			pp_made_work(&m, s % RANKS, PP_CATEGORY_INPUT, 10 * US);
			call(&m, kind, k);
		}
		pp_made_end_all(&m);
	}
	return pp_made_end(&m);
}

static int measure(enum kind kind, const char *what)
{
	struct pp_dataset d = make(kind);
	struct pp_intern *names = (struct pp_intern *)d.names;
	double ns[REPS];
	char note[96];
	struct bench_figure f = {.bench = "blame", .what = what, .unit = "ns", .gate = GATE, .note = note};

	snprintf(note, sizeof(note), "CPU; %zu rows, %zu operations", d.arrivals, d.collectives);
	for (int i = 0; i < REPS; i++) {
		struct pp_table table[PP_TABLES];
		struct pp_err err = {""};
		double begin;

		pp_dataset_tables(&d, table);
		bench_warm();
		begin = cpu_ns();
		if (pp_tool_blame(&d, table, &err)) {
			fprintf(stderr, "bench_blame: %s\n", err.text);
			exit(1);
		}
		ns[i] = (cpu_ns() - begin) / (double)d.arrivals;
		pp_table_release(&table[PP_TABLE_blame]);
		pp_table_release(&table[PP_TABLE_blame_step]);
	}
	bench_take(&f, ns, REPS, 0, 0.5, 1);
	pp_dataset_release(&d);
	pp_intern_free(names);
	return bench_print(&f);
}

int main(void)
{
	int missed;

	if (!bench_asked())
		return SKIP;
	missed = measure(WORLD, "graph and blame per row, collectives of all ranks");
	missed |= measure(CHAINS, "graph and blame per row, chains over two communicators");
	missed |= measure(MESSAGES, "graph and blame per row, messages");
	return missed;
}
