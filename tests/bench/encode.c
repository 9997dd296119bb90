/* ns per XSpace event with 0 and 3 stats, of the body that this processor gets and of the portable one, beside memcpy of the same bytes
 * (in cache: the floor). Reference: 5.96 and 11.9 ns. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "proto/xspace_build.h"
#include "tests/bench/bench.h"

enum { EVENTS = 1 << 16, TURNS = 60, BEST_OF = 5 };

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void fill(struct pp_xevent *e, uint32_t stats)
{
	uint64_t at = 1, seed = 88172645463325252u;

	for (int i = 0; i < EVENTS; i++) {
		seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
		at += seed % 3000000;
		e[i] = (struct pp_xevent){1 + (uint32_t)(seed % 300), stats, (int64_t)at, (int64_t)(seed >> 8) % 4000000};
		for (uint32_t s = 0; s < stats; s++)
			e[i].stat[s] = (struct pp_xstat){
			        .id = 2 + s, .kind = s == 1 ? PP_XSTAT_REF : PP_XSTAT_INT, .u = seed % (s == 0 ? 100000 : 200)};
	}
}

static double encode(uint8_t *(*put)(uint8_t *, const struct pp_xevent *), const struct pp_xevent *e, uint8_t *to,
                     size_t *ret_bytes)
{
	double best = 1e18;

	for (int b = 0; b < BEST_OF; b++) {
		double from = now();

		for (int t = 0; t < TURNS; t++) {
			uint8_t *p = to;

			for (int i = 0; i < EVENTS; i++)
				p = put(p, &e[i]);
			*ret_bytes = (size_t)(p - to);
		}
		from = (now() - from) / TURNS / EVENTS;
		best = from < best ? from : best;
	}
	return best;
}

static double copy(const uint8_t *from, uint8_t *to, size_t bytes)
{
	double best = 1e18;

	for (int b = 0; b < BEST_OF; b++) {
		double begin = now();

		for (int t = 0; t < TURNS; t++) {
			memcpy(to, from, bytes);
			__asm__ volatile("" ::"r"(to) : "memory");
		}
		begin = (now() - begin) / TURNS / EVENTS;
		best = begin < best ? begin : best;
	}
	return best;
}

static int measure_all(void)
{
	struct pp_xevent *e = calloc(EVENTS, sizeof(*e));
	uint8_t *to = malloc((size_t)EVENTS * PP_XEVENT_BYTES + PP_XEVENT_BYTES), *other = malloc((size_t)EVENTS * PP_XEVENT_BYTES);

	if (!e || !to || !other)
		return 1;
	for (uint32_t stats = 0; stats <= 3; stats += 3) {
		size_t bytes;
		double fast, slow, plain;

		fill(e, stats);
		slow = encode(pp_xevent_put_portable, e, to, &bytes);
		fast = encode(pp_xevent_put, e, to, &bytes);
		plain = copy(to, other, bytes);
		printf("encode %u stats: %.1f ns/event (portable %.1f), %.1f B/event; memcpy of these bytes %.2f ns, ratio %.1f\n",
		       stats, fast, slow, (double)bytes / EVENTS, plain, fast / plain);
	}
	free(other);
	free(to);
	free(e);
	return 0;
}

int main(void)
{
	return bench_asked() ? measure_all() : 77;
}
