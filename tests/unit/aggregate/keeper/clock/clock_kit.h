/* One host of the clock exchange as a process of its own; shared by clock_link_test.c and clock_host.c. All clocks are of one
 * kernel, so the truth is known: equal ticks, or RAW moved by a namespace's offset. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "aggregate/keeper/clock/clock_link.h"

enum { CLOCK_KIT_ROUNDS = 4, CLOCK_KIT_INSTANTS = 4000 };
static const uint8_t clock_kit_key[PP_CLOCK_KEY] = {7, 7, 7};

struct clock_kit_host {
	uint32_t self;
	enum pp_tick_kind kind;
	int64_t moved; /* its tick is so much ahead of the root's */
	const char *addresses;
	uint16_t port;
};

struct clock_reading {                         /* by a host at its end */
	int64_t instants, above, worst, bound; /* in ticks */
	uint64_t trips;
	int moved;
	enum pp_same_verdict same;
};

static inline void clock_kit_nap(int ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000l};

	nanosleep(&t, NULL);
}

static inline int64_t clock_kit_tick(enum pp_tick_kind kind)
{
	return (int64_t)(kind == PP_TICK_RAW ? pp_tick_raw() : pp_tick_counter_after());
}

static inline struct pp_clock_link *clock_kit_open(enum pp_tick_kind kind)
{
	struct pp_clock_link_options o = {.kind = kind};
	struct pp_clock_pair a, b;
	struct pp_clock_link *l = NULL;
	struct pp_err err = {""};

	pp_clock_read_pair(kind, &a);
	clock_kit_nap(20);
	pp_clock_read_pair(kind, &b);
	o.ticks_per_ns = pp_clock_rate(kind, &a, &b);
	if (pp_clock_link_open(&o, &l, &err)) {
		fprintf(stderr, "%s\n", err.text);
		exit(1);
	}
	return l;
}

/* Of loopback; the same each time. */
static inline uint16_t clock_kit_port(struct pp_clock_link *l)
{
	struct pp_err err = {""};
	uint16_t port = 0;

	if (pp_clock_link_bind(l, "127.0.0.1", &port, &err)) {
		fprintf(stderr, "%s\n", err.text);
		exit(1);
	}
	return port;
}

/* Takes part until it had all rounds, then compares what it maps with the truth. 0, or which step failed. */
static inline int clock_kit_host(const struct clock_kit_host *h, struct clock_reading *ret)
{
	struct pp_clock_exchange_options o = {.self = h->self, .hello_ns = 20000000};
	struct pp_clock_link *l = clock_kit_open(h->kind);
	int64_t at[CLOCK_KIT_INSTANTS], first = clock_kit_tick(h->kind);
	struct pp_clock_link_state state = {0};
	struct clock_reading reported = {.moved = h->moved != 0};
	struct pp_pieces p;
	size_t ats = 0;

	memcpy(o.key, clock_kit_key, sizeof(clock_kit_key));
	if (pp_clock_link_join(l, &o, h->addresses, h->port, NULL))
		return 1;
	while (ats < CLOCK_KIT_INSTANTS && (state.turn < CLOCK_KIT_ROUNDS || state.busy)) {
		at[ats++] = clock_kit_tick(h->kind);
		clock_kit_nap(2);
		pp_clock_link_state(l, &state);
	}
	reported.trips = state.counts.trips;
	reported.same = pp_same_clock_verdict(&state.same, (int64_t)1e9);
	if (pp_clock_link_pieces(l, clock_kit_tick(h->kind) - first, &p, NULL))
		return 2;
	for (size_t i = 0; i < ats; i++) {
		int64_t bound = pp_pieces_bound(&p, at[i]), error = llabs(pp_pieces_map(&p, at[i]) - (at[i] - h->moved));

		reported.instants += bound != INT64_MAX;
		reported.above += error > bound;
		reported.worst = error > reported.worst ? error : reported.worst;
		reported.bound = bound != INT64_MAX && bound > reported.bound ? bound : reported.bound;
	}
	pp_pieces_release(&p);
	pp_clock_link_free(l);
	*ret = reported;
	return 0;
}

/* Root: one round, until its turns are over. */
static inline int clock_kit_round(struct pp_clock_link *l, uint64_t round, struct pp_clock_link_state *ret)
{
	if (pp_clock_link_start(l, round))
		return 1;
	for (int i = 0; i < 2000; i++) {
		pp_clock_link_state(l, ret);
		if (!ret->busy)
			return 0;
		clock_kit_nap(1);
	}
	return 2;
}
