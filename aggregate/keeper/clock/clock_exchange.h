/* Rounds of the clock exchange as a state machine without a socket. Called by clock_link.c, tests and benches. In: packets with
 * the tick at which they arrived, and the time. Out: packets, and a band of this domain against its parent. A parent grants its
 * children turns, one after another; in its turn a child sends `count` pings and computes alone. A dead or stopped child costs
 * only its own row: its turn expires, and after two missed turns no round waits for it until it answers again. A hub serves its
 * children after its own turn. Children need not be known before: where there is room, a domain that sends hello with the job's
 * key becomes one. One thread, no allocation after init but the band's. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "aggregate/keeper/clock/clock_packet.h"
#include "core/base/err.h"
#include "core/clock/band.h"
#include "core/clock/same_clock.h"

struct pp_clock_ops {
	int64_t (*tick)(void *ctx);                                      /* Required. */
	void (*send)(void *ctx, uint32_t domain, const uint8_t *packet); /* Required. Sends at once or drops. */
};

struct pp_clock_exchange_options {
	uint32_t self, parent;     /* domains; the root is its own parent */
	const uint32_t *child;     /* [children] */
	size_t children, more;     /* more: room for children that send hello later */
	double ticks_per_ns;       /* of this domain, within 1e-4 */
	uint8_t key[PP_CLOCK_KEY]; /* of the job */
	/* 0: the default named behind */
	uint16_t count;    /* trips in a turn: 50 */
	int64_t budget_ns; /* of a turn: 20 ms */
	int64_t answer_ns; /* silence after which a child loses its turn: 20 ms */
	/* From a child's first hello to the next while it has no turn, then twice as long, up to 32 times: 100 ms. */
	int64_t hello_ns;
	int same;      /* this domain claims the parent's clock: once the timestamps agree its turns are empty */
	double wander; /* band.h */
	size_t bursts; /* how many are kept: 1024 */
};

enum pp_clock_child_state {
	PP_CHILD_IDLE,   /* no round runs, or its turn has not come */
	PP_CHILD_TURN,   /* it is its turn */
	PP_CHILD_DONE,   /* of this round */
	PP_CHILD_MISSED, /* it lost its turn in this round */
};

struct pp_clock_child {
	uint32_t domain;
	enum pp_clock_child_state state;
	int has_answered; /* ever; no round waits for a child that never answered */
	int left;         /* it has another parent, or needs none: no turns until its next hello */
	uint32_t missed;  /* turns in a row; from 2 on no round waits for it */
	uint64_t trips;   /* of all rounds, as it reports */
	int64_t took_ns;  /* its last turn */
};

struct pp_clock_counts {
	uint64_t packets, foreign; /* foreign: without the key, or for another domain */
	uint64_t trips, lost;      /* of this domain as a child: round trips, and pings without a timely reply */
	uint64_t impossible;       /* trips with inconsistent timestamps */
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
	struct pp_same_clock same; /* all trips, for a domain that may share the parent's clock */
	struct pp_band_group *group;
	int turn, waits;       /* turn: we have the turn; waits: a ping is open */
	uint64_t turn_sync;    /* of the last or present turn */
	uint32_t sequence;     /* of the last ping */
	uint16_t wanted, came; /* trips of this turn */
	int64_t turn_end_ns, ping_end_ns, patience_ns, hello_ns, hello_wait_ns;
	/* as a parent */
	struct pp_clock_child *child;
	size_t children, room, current;
	int round;
	uint64_t round_sync;
	int64_t received_ns; /* last ping of the child that has the turn; INT64_MIN: none yet */
	int64_t given_ns, round_began_ns, round_took_ns, granted_ns;
};

/* Copies the options; `ops` and `ctx` must outlive it. To be released. -EINVAL: the tick's rate is not known; -ENOMEM. */
int pp_clock_exchange_init(struct pp_clock_exchange *x, const struct pp_clock_exchange_options *o, const struct pp_clock_ops *ops,
                           void *ctx, struct pp_err *err);
/* Frees the band and the children. */
void pp_clock_exchange_release(struct pp_clock_exchange *x);

/* As a child: changes the parent; drops what was measured against the former one. `same`: as in the options. */
void pp_clock_exchange_move(struct pp_clock_exchange *x, uint32_t parent, int same);
/* Leaves the parent; the message to it may be lost. */
void pp_clock_exchange_leave(struct pp_clock_exchange *x);
/* Root: begin a round. -EBUSY: one runs; -ENOENT: there are no children. */
int pp_clock_exchange_start(struct pp_clock_exchange *x, uint64_t sync);
/* Handles a packet that arrived at `tick` or before: not later than now, not earlier than it was sent. */
void pp_clock_exchange_packet(struct pp_clock_exchange *x, const void *bytes, size_t size, int64_t tick);
/* Handles timeouts that are due. */
void pp_clock_exchange_due(struct pp_clock_exchange *x);
/* When pp_clock_exchange_due() must be called, ns by this domain's tick; INT64_MAX: not before the next packet. */
int64_t pp_clock_exchange_next_ns(const struct pp_clock_exchange *x);
/* Now, ns by this domain's tick. */
int64_t pp_clock_exchange_now_ns(const struct pp_clock_exchange *x);
/* Does a turn or a round run? Then the thread should wait for packets only. */
int pp_clock_exchange_busy(const struct pp_clock_exchange *x);
