/* What hosts' shares of a dataset take on their way to rank 0's keeper, in bytes and CPU, and what merging them takes there.
 * Budget: 128 bytes a (rank, step) and 8 a row of a collective of several hosts. `bench_block POD`: also out of a recorded
 * session of 8 ranks, as of 4 hosts. Called by block.py. Runs only with PODPROF_BENCH=1. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include "aggregate/analyze/finish.h"
#include "aggregate/dataset/block.h"
#include "aggregate/dataset/merge.h"
#include "aggregate/read/h5/file_dataset.h"
#include "tests/bench/bench.h"
#include "tests/bench/block.h"

enum { SKIP = 77, A_CELL = 128, A_ROW = 8, REPS = 9, HOSTS = 64, HOST_RANKS = 16, HEAD = 40, CALLS = 4 };

static double cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void fail(const struct pp_err *err)
{
	fprintf(stderr, "bench_block: %s\n", err->text);
	exit(1);
}

static double limit_of(const struct pp_dataset *d)
{
	return (double)(d->steps * d->workers * A_CELL + d->arrivals * A_ROW);
}

static int print_size(const char *what, const double *ratio, int n, double bytes, const struct pp_dataset *d)
{
	char note[120];
	struct bench_figure f = {.bench = "block", .what = what, .unit = "x", .gate = 1, .note = note};
	double sorted[HOSTS];

	memcpy(sorted, ratio, (size_t)n * sizeof(*sorted));
	snprintf(note, sizeof(note), "%d blocks of %zu ranks x %zu steps, %zu rows of collectives: %.0f bytes each", n, d->workers,
	         d->steps, d->arrivals, bytes / n);
	bench_take(&f, sorted, n, 0, 1, 1);
	return bench_print(&f);
}

/* A recorded session of 8 ranks, as if of 4 hosts. */
static int recorded(const char *path)
{
	struct pp_err err = {""};
	struct pp_dataset whole, part = {.steps = 0};
	struct pp_intern *names = pp_intern_new();
	struct pp_h5_file *h5;
	double ratio[4], bytes = 0;
	int missed, parts = 0;

	if (pp_h5_file_open(path, &h5, &err) || pp_h5_file_dataset(h5, UINT64_MAX, &whole, &err))
		fail(&err);
	whole.names = names;
	for (int32_t first = 0; first + 2 <= (int32_t)whole.workers && parts < 4; first += 2) {
		void *block;
		size_t size;

		if (parts)
			pp_dataset_release(&part);
		block_cut(&part, h5, &whole, first, 2);
		if (pp_block_write(&part, &block, &size, &err))
			fail(&err);
		free(block);
		bytes += (double)size;
		ratio[parts++] = (double)size / limit_of(&part);
	}
	missed = print_size("bytes of c_mpi_train's blocks / limit, the largest", ratio, parts, bytes, &part);
	pp_dataset_release(&part);
	pp_dataset_release(&whole);
	pp_h5_file_close(h5);
	pp_intern_free(names);
	return missed;
}

static void print_cpu(const char *what, double *ns, double gate, const char *note)
{
	struct bench_figure f = {.bench = "block", .what = what, .unit = gate > 0 ? "x" : "ns", .gate = gate, .note = note};

	bench_take(&f, ns, REPS, 0, 0.5, 1);
	bench_print(&f);
}

/* Bytes, and the CPU of writing and reading them, a (rank, step); deflate's part of it alone. */
static int made(void)
{
	struct block_job job = {.ranks = 64, .steps = 1000, .calls = 8};
	struct pp_intern *names = pp_intern_new();
	struct pp_dataset d, back;
	struct pp_err err = {""};
	double ratio[4], bytes = 0, write[REPS], read[REPS], deflate[REPS];
	int missed;

	for (int p = 0; p < 4; p++) {
		void *block;
		size_t size;

		block_make(&d, names, &job, p * 16, 16);
		if (pp_block_write(&d, &block, &size, &err))
			fail(&err);
		bytes += (double)size;
		ratio[p] = (double)size / limit_of(&d);
		for (int i = 0; i < REPS && p == 3; i++) {
			double begin = cpu_ns(), cells = (double)(d.steps * d.workers);
			uint64_t unpacked;
			uLongf length, packed;
			uint8_t *inner, *again;

			free(block);
			if (pp_block_write(&d, &block, &size, &err))
				fail(&err);
			write[i] = (cpu_ns() - begin) / cells;
			begin = cpu_ns();
			if (pp_block_read(block, size, names, &back, &err))
				fail(&err);
			read[i] = (cpu_ns() - begin) / cells;
			pp_dataset_release(&back);
			memcpy(&unpacked, (uint8_t *)block + 16, sizeof(unpacked));
			length = unpacked;
			packed = compressBound(length);
			inner = malloc(length);
			again = malloc(packed);
			if (!inner || !again || uncompress(inner, &length, (uint8_t *)block + HEAD, size - HEAD) != Z_OK)
				abort();
			begin = cpu_ns();
			compress2(again, &packed, inner, length, 3);
			deflate[i] = (cpu_ns() - begin) / cells;
			free(inner);
			free(again);
		}
		free(block);
		if (p < 3)
			pp_dataset_release(&d);
	}
	missed = print_size("bytes of blocks made up / limit, the largest", ratio, 4, bytes, &d);
	print_cpu("writing a block, CPU per (rank, step)", write, 0, "with 8 collectives per step");
	print_cpu("deflate's part of it", deflate, 0, "level 3");
	print_cpu("reading a block, CPU per (rank, step)", read, 0, "");
	pp_dataset_release(&d);
	pp_intern_free(names);
	return missed;
}

/* All hosts' blocks, as a leader has them: read, merge, finish. */
static void merge_all(void)
{
	static void *block[HOSTS];
	static size_t size[HOSTS];
	static struct pp_dataset part[HOSTS];
	const struct pp_dataset *list[HOSTS];
	struct block_job job = {.ranks = HOSTS * HOST_RANKS, .steps = 1000, .calls = CALLS};
	struct pp_intern *names = pp_intern_new();
	struct pp_err err = {""};
	struct pp_dataset d;
	double bytes = 0, begin, ms[3];
	char note[128];
	struct rusage before, after;
	struct bench_figure f = {.bench = "block", .what = "64 blocks of 16 ranks x 1000 steps: read", .unit = "ms", .note = note};

	for (int i = 0; i < HOSTS; i++) {
		block_make(&d, names, &job, i * HOST_RANKS, HOST_RANKS);
		if (pp_block_write(&d, &block[i], &size[i], &err))
			fail(&err);
		pp_dataset_release(&d);
		bytes += (double)size[i];
	}
	getrusage(RUSAGE_SELF, &before);
	begin = cpu_ns();
	for (int i = 0; i < HOSTS; i++) {
		if (pp_block_read(block[i], size[i], names, &part[i], &err))
			fail(&err);
		list[i] = &part[i];
	}
	ms[0] = (cpu_ns() - begin) / 1e6;
	begin = cpu_ns();
	if (pp_dataset_merge(list, HOSTS, &d, &err))
		fail(&err);
	ms[1] = (cpu_ns() - begin) / 1e6;
	for (int i = 0; i < HOSTS; i++)
		pp_dataset_release(&part[i]);
	begin = cpu_ns();
	if (pp_dataset_finish(&d, &err))
		fail(&err);
	ms[2] = (cpu_ns() - begin) / 1e6;
	getrusage(RUSAGE_SELF, &after);
	snprintf(note, sizeof(note), "CPU; %.1f MB, %zu rows of collectives; %.0f MB at most", bytes / 1e6, d.arrivals,
	         (double)after.ru_maxrss / 1e3);
	for (int i = 0; i < 3; i++) {
		static const char *const what[] = {"64 blocks of 16 ranks x 1000 steps: read", "merge", "finish"};

		f.what = what[i];
		f.value = f.low = f.high = ms[i];
		bench_print(&f);
	}
	pp_dataset_release(&d);
	pp_intern_free(names);
	for (int i = 0; i < HOSTS; i++)
		free(block[i]);
}

int main(int argc, char **argv)
{
	int missed;

	if (!bench_asked())
		return SKIP;
	missed = made();
	if (argc > 1)
		missed |= recorded(argv[1]);
	merge_all();
	return missed;
}
