/* Closing a window: drain, pair, convert, attribute, encode and write, against memcpy of the records plus write of as many
 * bytes as came out. In tmpfs, so that no disk is measured. Budget: 4x. Runs only with PODPROF_BENCH=1. */
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "aggregate/read/ring/finish.h"
#include "aggregate/read/ring/rings.h"
#include "aggregate/session/session.h"
#include "core/capture/capture.h"
#include "tests/bench/bench.h"
#include "tests/unit/aggregate/read/ring/ring_maker.h"
#include "tests/unit/aggregate/read/ring/rings_open.h"

enum { RANKS = 4, RANGES = 250000, STEPS = 100, REPS = 9, BUDGET = 4, SKIP = 77 };

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void step(struct maker *m, pp_tick tick, int64_t number, int begin)
{
	struct pp_record r = {.tick = tick, .kind = begin ? PP_RECORD_STEP_BEGIN : PP_RECORD_STEP_END, .step = {.number = number}};

	maker_put(m, 0, &r, NULL, 0);
}

static void fill(struct maker *m)
{
	pp_tick tick = 10000;

	for (int s = 0; s < STEPS; s++) {
		step(m, tick += 100, s, 1);
		for (int i = 0; i < RANGES / STEPS / 2; i++) {
			char name[32];

			snprintf(name, sizeof(name), "layer%d/forward", i % 48);
			maker_push(m, 0, tick += 40, "forward");
			maker_push(m, 0, tick += 40, name);
			maker_pop(m, 0, tick += 200);
			maker_pop(m, 0, tick += 40);
		}
		step(m, tick += 100, s, 0);
	}
}

static double swept;

static int sweep_one(const char *path, const struct stat *st, int type, struct FTW *place)
{
	(void)place;
	if (type == FTW_F)
		swept += (double)st->st_size;
	return remove(path);
}

/* Bytes of all files under a directory, which is removed. */
static double sweep(const char *path)
{
	swept = 0;
	nftw(path, sweep_one, 16, FTW_DEPTH | FTW_PHYS);
	return swept;
}

/* ms of memcpy of the rings and write() of `bytes` to the same file system. */
static double limit_ms(const struct maker *m, const char *path, double bytes)
{
	char *copy = malloc(m[0].bytes);
	double begin = now_ms(), left = bytes;
	int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);

	if (!copy || fd < 0)
		abort();
	for (int r = 0; r < RANKS; r++)
		memcpy(copy, m[r].header, m[r].bytes);
	while (left > 0) {
		ssize_t n = write(fd, copy, left < (double)m[0].bytes ? (size_t)left : m[0].bytes);

		if (n <= 0)
			abort();
		left -= (double)n;
	}
	close(fd);
	begin = now_ms() - begin;
	unlink(path);
	free(copy);
	return begin;
}

static double close_window(struct maker *m, const char *dir)
{
	struct pp_rings *rings = pp_rings_new((size_t)1 << 30);
	struct pp_clock_pair a = {.tick = 0, .raw_ns = 0},
	                     b = {.tick = 1000000000, .raw_ns = 1000000000, .realtime_ns = 1000000000};
	struct pp_session_page later = {
	        .pid = 0}; /* as in the keeper: the page of a large session is written when no rank waits any more */
	struct pp_session_options options = {
	        .logdir = dir, .session = "bench", .job = "bench", .command = "bench", .options = "", .ret_page = &later};
	struct pp_clock_map clock;
	struct pp_capture capture;
	struct pp_err err;
	double begin = now_ms();
	char message[1024];

	for (int r = 0; r < RANKS; r++) {
		if (pp_rings_open(rings, m[r].path, &err))
			abort();
		while (pp_rings_drain(rings, (size_t)r, NULL))
			;
	}
	if (pp_rings_finish(rings, &capture, &err) || pp_clock_map_init(&clock, PP_TICK_RAW, &a, &b, 1000, &err) ||
	    pp_session_write(&capture, &clock, &options, message, sizeof(message), &err)) {
		fprintf(stderr, "bench_close: %s\n", err.text);
		exit(1);
	}
	pp_capture_release(&capture);
	pp_rings_free(rings);
	return now_ms() - begin;
}

struct cost { /* of each turn, ms */
	double wall[REPS], cpu[REPS];
};

/* Least over least: other work on the machine only adds. The spread is that of the turns. */
static void over(struct bench_figure *f, const double *a, const double *b)
{
	double ratio[REPS], least_a = a[0], least_b = b[0];

	for (int i = 0; i < REPS; i++) {
		ratio[i] = a[i] / b[i];
		least_a = a[i] < least_a ? a[i] : least_a;
		least_b = b[i] < least_b ? b[i] : least_b;
	}
	bench_take(f, ratio, REPS, 0, 0.5, 1);
	f->value = least_a / least_b;
}

static void a_range(struct bench_figure *f, const double *ms)
{
	double ns[REPS];

	for (int i = 0; i < REPS; i++)
		ns[i] = ms[i] * 1e6 / RANKS / RANGES;
	bench_take(f, ns, REPS, 0, 0.5, 1);
}

static int rows(const struct cost *took, const struct cost *limit, double bytes)
{
	char note[96];
	struct bench_figure f = {.bench = "close", .unit = "x", .gate = BUDGET, .note = note};
	int missed;

	snprintf(note, sizeof(note), "wall; %d ranks x %d ranges, %.1f MB out; minimum .. maximum of %d", RANKS, RANGES,
	         bytes / 1e6, REPS);
	f.what = "window close / memcpy of the rings + write of the files";
	over(&f, took->wall, limit->wall);
	missed = bench_print(&f);
	f.gate = 0;
	f.note = "CPU of both";
	over(&f, took->cpu, limit->cpu);
	bench_print(&f);
	f.unit = "ns/range";
	f.note = "wall";
	f.what = "window close";
	a_range(&f, took->wall);
	bench_print(&f);
	f.note = "CPU";
	a_range(&f, took->cpu);
	bench_print(&f);
	return missed;
}

static double cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

int main(void)
{
	static struct maker m[RANKS];
	char dir[128], file[160];
	struct cost took, limit;
	double bytes = 0;

	if (!bench_asked())
		return SKIP;
	snprintf(dir, sizeof(dir), "/dev/shm/pp-close-%d", (int)getpid());
	snprintf(file, sizeof(file), "%s.limit", dir);
	for (int i = 0; i < REPS; i++) {
		for (int r = 0; r < RANKS; r++) {
			char path[160];

			snprintf(path, sizeof(path), "%s-%d.ring", dir, r);
			maker_open(&m[r], path, r, RANKS, 1, RANGES * 2 / PP_CHUNK_RECORDS + 8);
			maker_thread(&m[r], 0, 1);
			fill(&m[r]);
		}
		took.cpu[i] = cpu_ms();
		took.wall[i] = close_window(m, dir);
		took.cpu[i] = cpu_ms() - took.cpu[i];
		bytes = sweep(dir);
		limit.cpu[i] = cpu_ms();
		limit.wall[i] = limit_ms(m, file, bytes);
		limit.cpu[i] = cpu_ms() - limit.cpu[i];
		for (int r = 0; r < RANKS; r++) {
			unlink(m[r].path);
			maker_close(&m[r]);
		}
	}
	return rows(&took, &limit, bytes);
}
