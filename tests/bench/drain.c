/* CPU ns a record for draining, interning and pairing, paced at 1-2 M records/s and unpaced. Budget: 40 ns paced. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "aggregate/read/ring/rings.h"
#include "tests/bench/bench.h"
#include "tests/unit/aggregate/read/ring/ring_maker.h"
#include "tests/unit/aggregate/read/ring/rings_open.h"

enum { NAMES = 40, ROUNDS = 400, RANKS = 8, TURNS = 3, BUDGET_NS = 40 };

static int64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* `pairs` ranges into every ring, as a training loop has them: three deep, names of 8 to 40 bytes. */
static void fill(struct maker *m, int pairs, pp_tick *tick)
{
	static char name[NAMES][48];

	if (!name[0][0])
		for (int i = 0; i < NAMES; i++)
			snprintf(name[i], sizeof(name[i]), "layer%d/%.*s", i, 1 + i * 3 % 30, "attention_projection_backward_x");
	for (int r = 0; r < RANKS; r++)
		for (int i = 0; i < pairs; i += 3) {
			for (int k = 0; k < 3; k++)
				maker_push(&m[r], 0, ++*tick, name[(i + k * 7) % NAMES]);
			for (int k = 0; k < 3; k++)
				maker_pop(&m[r], 0, ++*tick);
		}
}

static double measure(struct maker *m, struct pp_rings *rings, int pairs, int pause_us, pp_tick *tick)
{
	uint64_t records = 0;
	int64_t cpu = 0;

	for (int i = 0; i < ROUNDS; i++) {
		struct timespec pause = {.tv_nsec = pause_us * 1000L};
		int64_t begin;

		fill(m, pairs, tick);
		if (pause_us)
			nanosleep(&pause, NULL);
		begin = now_ns(CLOCK_THREAD_CPUTIME_ID);
		for (size_t r = 0; r < RANKS; r++)
			records += pp_rings_drain(rings, r, NULL);
		cpu += now_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
	}
	return (double)cpu / (double)records;
}

static int measure_all(void)
{
	static struct maker m[RANKS];
	struct pp_rings *rings = pp_rings_new(64 << 20);
	pp_tick tick = 2000;
	int missed;
	struct bench_figure f = {
	        .bench = "drain", .what = "drain, intern and pair at about 1.4 M records/s", .unit = "ns CPU", .gate = BUDGET_NS};
	double paced[TURNS], unpaced[TURNS];
	char note[64];
	struct rusage u;

	if (!rings)
		return 1;
	for (int r = 0; r < RANKS; r++) {
		char path[128];

		snprintf(path, sizeof(path), "/dev/shm/pp-bench-%d-%d.ring", (int)getpid(), r);
		maker_open(&m[r], path, r, RANKS, 1, 8);
		maker_thread(&m[r], 0, 1);
		if (pp_rings_open(rings, path, NULL))
			return 1;
		unlink(path);
	}
	/* 8 ranks x 90 pairs x 2 records each 1 ms: 1.4 M records/s. The least of three: other work on the machine only adds. */
	for (int i = 0; i < TURNS; i++)
		paced[i] = measure(m, rings, 90, 1000, &tick);
	for (int i = 0; i < TURNS; i++)
		unpaced[i] = measure(m, rings, 1500, 0, &tick);
	getrusage(RUSAGE_SELF, &u);
	snprintf(note, sizeof(note), "per record; RSS %ld MiB with a buffer of 64 MiB", u.ru_maxrss / 1024);
	f.note = note;
	bench_take(&f, paced, TURNS, 0, 0, 1);
	missed = bench_print(&f);
	f.what = "drain, intern and pair without a pause";
	f.gate = 0;
	bench_take(&f, unpaced, TURNS, 0, 0, 1);
	bench_print(&f);
	pp_rings_free(rings);
	return missed;
}

int main(void)
{
	return bench_asked() ? measure_all() : 77;
}
