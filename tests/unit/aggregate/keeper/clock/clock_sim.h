/* Virtual hosts with virtual clocks around the real clock exchange: one queue of events, true time in ns. Called by tests, benches.
 * Every clock is a function of true time, so the error of a mapped tick is known exactly. */
#pragma once

#include <stdint.h>

#include "aggregate/keeper/clock/clock_exchange.h"
#include "core/clock/pieces.h"

struct sim_clock {
	double rate;            /* ticks a true ns, nominal */
	int64_t offset_ns;      /* what it shows at true time 0 */
	double drift;           /* relative */
	double sway, period_ns; /* rate + sway * sin(2 pi t / period + phase) */
	double phase;
	int64_t bend_ns; /* from here on the rate is `bend` more; 0: never */
	double bend;
	int64_t step_ns; /* from here on it shows `step` ns more; 0: never */
	int64_t step;
};

struct sim_path {                 /* to the parent and back, ns */
	double up, down;          /* least delay */
	double jitter;            /* mean of an exponential on top */
	double stall, stall_part; /* this part of the packets takes so much longer, at random up to `stall` */
	double loss;              /* part of the packets that never come */
	int64_t turn_ns;          /* from here on another route: up and down change places; 0: never */
};

struct sim;

struct sim_host {
	struct sim *sim;
	struct sim_clock clock;
	struct sim_path path;
	struct pp_clock_exchange x;
	int64_t stop_ns, go_ns; /* stopped in between; go_ns 0: never stopped */
	int dead;
	int64_t free_ns; /* it works one packet after another */
	int64_t due_ns;  /* true time of the event that is queued for it */
};

struct sim_event {
	int64_t at;
	uint64_t order;
	uint32_t host;
	int is_packet;
	uint8_t packet[PP_CLOCK_PACKET];
};

struct sim {
	struct sim_host *host;
	uint32_t hosts;
	struct sim_event *event;
	size_t events, room;
	uint64_t order, state; /* state: of the random numbers */
	int64_t now;
	double handle_ns; /* a packet's handling, mean */
	uint64_t sent;
};

double sim_random(struct sim *s); /* [0, 1) */
int64_t sim_between(struct sim *s, int64_t low, int64_t high);
int64_t sim_tick(const struct sim_clock *c, int64_t true_ns);

/* Hosts with exchanges by the tree of core/clock/tree.h; their clocks and paths are to be filled first. */
int sim_open(struct sim *s, uint32_t hosts, uint64_t seed);
int sim_connect(struct sim *s, uint16_t count);
void sim_close(struct sim *s);
/* Until true time. */
void sim_run(struct sim *s, int64_t until);
/* One round from the root, until all its turns are over or `most_ns` have passed. Returns what it took, true ns. */
int64_t sim_round(struct sim *s, uint64_t sync, int64_t most_ns);
/* Host's ticks to the root's ticks, through its parent. */
int sim_pieces(struct sim *s, uint32_t host, int64_t beyond, struct pp_pieces *ret, struct pp_err *err);
