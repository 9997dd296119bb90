/* ns per XSpace event with 0 and 3 stats, of the body that this processor gets and of the portable one, beside memcpy of the
 * same bytes (in cache: the floor) and beside protobuf C++ where it was found at build time, all in one run. Both writers start
 * from the same plain data, a batch at a time: ours builds a pp_xevent and writes it, protobuf builds an XLine and serialises
 * it. Runs only with PODPROF_BENCH=1. */
#include "tests/bench/encode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/xspace_build.h"
#include "tests/bench/bench.h"

enum { BATCH = 4096, TURNS = 16, REPS = 15, ROOM = BATCH * PP_XEVENT_BYTES + PP_XEVENT_BYTES };

static struct encode_source source[BATCH];
static uint8_t to[ROOM], other[ROOM];

static void fill(void)
{
	uint64_t at = 1, seed = 88172645463325252u;

	for (int i = 0; i < BATCH; i++) {
		seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
		at += seed % 3000000;
		source[i] = (struct encode_source){1 + (uint32_t)(seed % 300),
		                                   (int64_t)at,
		                                   1 + (int64_t)(seed >> 8) % 4000000,
		                                   {1 + seed % 100000, 1 + seed % 200, 1 + (seed >> 20) % 200}};
	}
}

/* Inlined, so that it calls the encoder as a writer does. */
__attribute__((always_inline)) static inline size_t ours(pp_xevent_encode *put, uint32_t stats)
{
	uint8_t *p = to;

	for (int i = 0; i < BATCH; i++) {
		const struct encode_source *s = &source[i];
		struct pp_xevent e;

		e.metadata = s->metadata;
		e.stats = stats;
		e.offset_ps = s->offset_ps;
		e.duration_ps = s->duration_ps;
		for (uint32_t k = 0; k < stats; k++)
			e.stat[k] = (struct pp_xstat){
			        .id = (uint8_t)(2 + k), .kind = k == 1 ? PP_XSTAT_REF : PP_XSTAT_INT, .u = s->value[k]};
		p = put(p, &e);
	}
	return (size_t)(p - to);
}

enum way { OURS, PORTABLE, COPY, PROTOBUF, SERIALISE = PROTOBUF + ENCODE_WAYS, WAYS };

static const char *const way_name[WAYS] = {
        [OURS] = "podprof",
        [PORTABLE] = "podprof, portable body",
        [COPY] = "memcpy of the same bytes, in cache",
        [PROTOBUF + ENCODE_FRESH] = "protobuf C++, new XLine each batch",
        [PROTOBUF + ENCODE_ARENA] = "protobuf C++, arena reset each batch",
        [PROTOBUF + ENCODE_REUSED] = "protobuf C++, one XLine reused",
        [SERIALISE] = "protobuf C++, serialising alone",
};

static size_t one_batch(enum way way, uint32_t stats, size_t bytes)
{
	switch (way) {
	case OURS:
		return ours(pp_xevent_put, stats);
	case PORTABLE:
		return ours(pp_xevent_put_portable, stats);
	case COPY:
		memcpy(other, to, bytes);
		__asm__ volatile("" ::"r"(other) : "memory");
		return bytes;
#ifdef BENCH_PROTOBUF
	case SERIALISE:
		return encode_protobuf_again(other, ROOM);
	default:
		return encode_protobuf((enum encode_way)(way - PROTOBUF), source, BATCH, stats, other, ROOM);
#else
	default:
		return bytes;
#endif
	}
}

static double measure(enum way way, uint32_t stats, size_t bytes)
{
	double begin = bench_ns();

	for (int t = 0; t < TURNS; t++)
		if (one_batch(way, stats, bytes) != bytes)
			return -1;
	return (bench_ns() - begin) / TURNS / BATCH;
}

/* `bytes` from `a` are what protobuf made of the same events. */
static int same_bytes(uint32_t stats, size_t bytes)
{
#ifdef BENCH_PROTOBUF
	return encode_protobuf(ENCODE_REUSED, source, BATCH, stats, other, ROOM) == bytes && !memcmp(to, other, bytes);
#else
	(void)stats, (void)bytes;
	return 1;
#endif
}

static double least(const double *v)
{
	double x = v[0];

	for (int r = 1; r < REPS; r++)
		x = v[r] < x ? v[r] : x;
	return x;
}

#ifdef BENCH_PROTOBUF
/* protobuf's way over ours, least over least: other work on the machine slows the larger tree more. Spread: turns of the run. */
static int ratio_row(uint32_t stats, double (*ns)[REPS], enum encode_way way, double gate, size_t bytes)
{
	char what[96], note[96];
	struct bench_figure f = {.bench = "encode", .what = what, .unit = "x", .gate = gate, .at_least = 1, .note = note};
	double ratio[REPS];

	for (int r = 0; r < REPS; r++)
		ratio[r] = ns[PROTOBUF + way][r] / ns[OURS][r];
	bench_take(&f, ratio, REPS, 0.25, 0.5, 0.75);
	f.value = least(ns[PROTOBUF + way]) / least(ns[OURS]);
	snprintf(what, sizeof(what), "XEvent, %u stats: %s / podprof", stats, way_name[PROTOBUF + way]);
	snprintf(note, sizeof(note), "build and serialise, libprotobuf %s; equal bytes, %.1f B/event", encode_protobuf_version(),
	         (double)bytes / BATCH);
	return bench_print(&f);
}
#endif

static int rows(uint32_t stats, double (*ns)[REPS], size_t bytes)
{
	char what[96];
	struct bench_figure f = {.bench = "encode", .what = what, .unit = "ns/event"};
	int ways = COPY + 1, missed = 0;

#ifdef BENCH_PROTOBUF
	ways = WAYS;
	missed = ratio_row(stats, ns, ENCODE_ARENA, stats ? 8 : 4, bytes);
	ratio_row(stats, ns, ENCODE_REUSED, 0, bytes);
#else
	(void)bytes;
#endif
	for (int w = 0; w < ways; w++) {
		snprintf(what, sizeof(what), "XEvent, %u stats: %s", stats, way_name[w]);
		bench_take(&f, ns[w], REPS, 0.25, 0.5, 0.75);
		f.value = least(ns[w]);
		bench_print(&f);
	}
	return missed;
}

static int measure_all(void)
{
	static double ns[WAYS][REPS];
	int missed = 0;

	fill();
	for (uint32_t stats = 0; stats <= 3; stats += 3) {
		size_t bytes = ours(pp_xevent_put, stats);

		if (!same_bytes(stats, bytes)) {
			printf("the bytes of protobuf C++ are not podprof's\n");
			return 1;
		}
		for (int r = -1; r < REPS; r++) /* the first turn warms up */
			for (int w = 0; w < WAYS; w++) {
				double one = measure((enum way)w, stats, bytes);

				if (one < 0)
					return 1;
				ns[w][r < 0 ? 0 : r] = one;
			}
		missed += rows(stats, ns, bytes);
	}
	return missed != 0;
}

int main(void)
{
	return bench_asked() ? measure_all() : 77;
}
