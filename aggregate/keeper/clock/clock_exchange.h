/* Rounds of the clock exchange as states, without a socket. Called by clock_link.c, tests and benches.
 * In: packets with the tick at which they came, and the time. Out: packets, and a band of this domain against its parent.
 * A parent gives its children turns, one after another; in its turn a child asks `count` times and computes alone. A child that is
 * dead or stopped costs its own row: its turn passes, and after two turns nobody waits for it until it is has_answered again.
 * A hub serves its children when its own turn is over. Children need not be known before: where there is room, who has the
 * job's key and says hello is one. One thread, no allocation after init but the band's. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "aggregate/keeper/clock/clock_packet.h"
#include "core/base/err.h"
#include "core/clock/band.h"
#include "core/clock/same_clock.h"

struct pp_clock_ops {
	int64_t (*tick)(void *ctx);                                      /* Required. */
	void (*send)(void *ctx, uint32_t domain, const uint8_t *packet); /* Required. At once or not at all. */
};

struct pp_clock_exchange_options {
	uint32_t self, parent;     /* domains; the root is its own parent */
	const uint32_t *child;     /* [children] */
	size_t children, more;     /* more: that may come by their hello */
	double ticks_per_ns;       /* of this domain, within 1e-4 */
	uint8_t key[PP_CLOCK_KEY]; /* of the job */
	/* 0: what stands behind */
	uint16_t count;    /* trips in a turn: 50 */
	int64_t budget_ns; /* of a turn: 20 ms */
	int64_t answer_ns; /* a child that is silent for so long in its turn loses it: 20 ms */
	/* From a child's first hello to the next while it has no turn, then twice as long, up to 32 times: 100 ms. */
	int64_t hello_ns;
	int same;      /* this domain says that it is the parent's: once the stamps agree its turns are empty */
	double wander; /* band.h */
	size_t bursts; /* that are kept: 1024 */
};

enum pp_clock_child_state {
	PP_CHILD_IDLE,   /* no round runs, or it has not come to it */
	PP_CHILD_TURN,   /* it is its turn */
	PP_CHILD_DONE,   /* of this round */
	PP_CHILD_MISSED, /* it lost its turn in this round */
};

struct pp_clock_child {
	uint32_t domain;
	enum pp_clock_child_state state;
	int has_answered; /* ever; nobody waits for who was not */
	int left;         /* it has another parent, or needs none: no turns until its next hello */
	uint32_t missed;  /* turns in a row; from 2 on nobody waits for it */
	uint64_t trips;   /* of all rounds, by its own word */
	int64_t took_ns;  /* its last turn */
};

struct pp_clock_counts {
	uint64_t packets, foreign; /* foreign: without the key, or not for us */
	uint64_t trips, lost;      /* of this domain as a child: round trips, and pings that nobody answered in time */
	uint64_t impossible;       /* trips whose stamps cannot be */
	uint64_t rounds;           /* that began here */
};

struct pp_clock_exchange {
	struct pp_clock_exchange_options o;
	const struct pp_clock_ops *ops;
	void *ctx;
	struct pp_clock_counts counts;
	/* as a child */
	struct pp_band band; /* our ticks to the parent's; empty options until the first grant */
	int has_band;
	struct pp_same_clock same; /* all trips, for a domain that may be the parent's own */
	struct pp_band_group *group;
	int turn, waits;       /* we are in our turn; a ping is under way */
	uint64_t turn_sync;    /* of the last or present turn */
	uint32_t sequence;     /* of the last ping */
	uint16_t wanted, came; /* trips of this turn */
	int64_t turn_end_ns, ping_end_ns, patience_ns, hello_ns, hello_wait_ns;
	/* as a parent */
	struct pp_clock_child *child;
	size_t children, room, current;
	int round; /* one runs */
	uint64_t round_sync;
	int64_t received_ns; /* of the child in turn, its last ping; INT64_MIN: not yet */
	int64_t given_ns, round_began_ns, round_took_ns, granted_ns;
};

int pp_clock_exchange_init(struct pp_clock_exchange *x, const struct pp_clock_exchange_options *o, const struct pp_clock_ops *ops,
                           void *ctx, struct pp_err *err);
void pp_clock_exchange_release(struct pp_clock_exchange *x);

/* As a child, from another parent on: what was measured against the one before is thrown away. `same`: as in the options. */
void pp_clock_exchange_move(struct pp_clock_exchange *x, uint32_t parent, int same);
/* No parent any more; it is told, though that may be lost. */
void pp_clock_exchange_leave(struct pp_clock_exchange *x);
/* Root: begin a round. -EBUSY: one runs; -ENOENT: there are no children. */
int pp_clock_exchange_start(struct pp_clock_exchange *x, uint64_t sync);
/* A packet that came at `tick`, or any time before: not later than now, not earlier than it was sent. */
void pp_clock_exchange_packet(struct pp_clock_exchange *x, const void *bytes, size_t size, int64_t tick);
/* Time has passed: what is due is done. */
void pp_clock_exchange_due(struct pp_clock_exchange *x);
/* When pp_clock_exchange_due() is to be called, ns by this domain's tick; INT64_MAX: only a packet matters. */
int64_t pp_clock_exchange_next_ns(const struct pp_clock_exchange *x);
int64_t pp_clock_exchange_now_ns(const struct pp_clock_exchange *x);
/* A turn or a round runs: packets should be waited for without anything else. */
int pp_clock_exchange_busy(const struct pp_clock_exchange *x);
