/* The clock exchange of one keeper over UDP, in a thread that sleeps until a packet arrives. Called by the keeper. In: this
 * domain, its parent's addresses and the job's key. Out: chains of lines to the parent's ticks, rows of children. Only the
 * owner's thread calls these functions; a forked child does not touch a link. No function waits for another host. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "aggregate/keeper/clock/clock_exchange.h"
#include "aggregate/keeper/clock/clock_socket.h"
#include "aggregate/session/clock_metadata.h"
#include "core/base/err.h"
#include "core/base/tick.h"
#include "core/clock/clock_map.h"
#include "core/clock/pieces.h"

struct pp_clock_link;

struct pp_clock_link_options {
	enum pp_tick_kind kind;
	double ticks_per_ns; /* pp_clock_link_rate() */
	uint16_t port_first, port_last;
	int no_kernel_stamps; /* for measurements without them */
};

struct pp_clock_link_state {
	int busy;              /* a round or a turn runs */
	uint64_t round, turn;  /* last one begun: as a parent, as a child; 0: none */
	int64_t round_took_ns; /* of the last complete round */
	size_t answered;       /* children that ever answered: a round for new hosts begins when it grows */
	size_t children;       /* of them, those that have not left */
	uint32_t parent;
	int64_t cpu_ns; /* of the serving thread, at the end of its last turn or round */
	struct pp_clock_counts counts;
	struct pp_same_clock same; /* to the parent */
};

/* Measures a tick's rate for 5 ms; `ret_first` is the reading at its begin. */
double pp_clock_link_rate(enum pp_tick_kind kind, struct pp_clock_pair *ret_first);
/* Opens no port yet. Each address in use has a socket with a port: the addresses of pp_clock_link_bind(), which other hosts
 * learn, and those that reach the parent. Packets before pp_clock_link_join() are dropped. */
int pp_clock_link_open(const struct pp_clock_link_options *o, struct pp_clock_link **ret_link, struct pp_err *err);
void pp_clock_link_free(struct pp_clock_link *l);
/* Opens a port at an address of this host, at the first one's port where that is free; the same again for the same address.
 * -EADDRINUSE: none of the range is free. -ENOSPC: too many addresses. */
int pp_clock_link_bind(struct pp_clock_link *l, const char *local, uint16_t *ret_port, struct pp_err *err);
/* Address and port that reach the parent; other hosts reach this keeper there too. */
uint16_t pp_clock_link_place(struct pp_clock_link *l, char ret_address[PP_CLOCK_NUMERIC]);
/* Takes the place in the tree and begins to serve; once. `addresses`: of the parent, numeric, with spaces between; NULL for a root.
 * Tries all of them until one answers; children are known by their hello. The link sets `o->ticks_per_ns`. -EHOSTUNREACH: no UDP
 * packet can be sent to any of them. */
int pp_clock_link_join(struct pp_clock_link *l, const struct pp_clock_exchange_options *o, const char *addresses, uint16_t port,
                       struct pp_err *err);
/* Changes the parent: its addresses, as with join. Drops what was measured against the former one. -EINVAL: no address. */
int pp_clock_link_move(struct pp_clock_link *l, uint32_t parent, int same, const char *addresses, uint16_t port,
                       struct pp_err *err);
/* Sets whether this domain's clock counts as the parent's, once the timestamps agree. */
void pp_clock_link_claim(struct pp_clock_link *l, int same);
/* Leaves the parent and asks it not to wait for us. */
void pp_clock_link_leave(struct pp_clock_link *l);
/* Root: begins a round; numbers increase. -EBUSY: one runs. -ENOENT: no children. */
int pp_clock_link_start(struct pp_clock_link *l, uint64_t round);
/* As of now; zero before join. */
void pp_clock_link_state(struct pp_clock_link *l, struct pp_clock_link_state *ret_state);
/* Maps own ticks to the parent's, as of now. -ENODATA: never compared. */
int pp_clock_link_pieces(struct pp_clock_link *l, int64_t beyond, struct pp_pieces *ret, struct pp_err *err);
/* Points of the band, copies to be freed. -ENOMEM. */
int pp_clock_link_nodes(struct pp_clock_link *l, struct pp_band_node **ret_node, size_t *ret_nodes, struct pp_err *err);
struct pp_clock_bursts {
	uint32_t self, parent;
	int same;          /* it counts as the parent's clock, and no trip contradicts that */
	uint64_t exchange; /* equal for all hosts of one exchange */
	double rate, wander;
	int all;                     /* no burst began at `since`: these are all */
	struct pp_band_group *group; /* to be freed */
	size_t groups;
};
/* Copies for the file of clocks: complete bursts behind the one that began at tick `since`. -ENOMEM. */
int pp_clock_link_bursts(struct pp_clock_link *l, int64_t since, struct pp_clock_bursts *ret, struct pp_err *err);
/* Children as they are now, copies to be freed. -ENOMEM. */
int pp_clock_link_children(struct pp_clock_link *l, struct pp_clock_child **ret_child, size_t *ret_children, struct pp_err *err);

/* Parent process. Copies what is known by now; releases what `t` held. `parent`: host with which this one compares its clock,
 * `hops` from rank 0's; "" and 0: others compare theirs with it. Without memory there are no samples. */
void pp_clock_metadata_take(struct pp_clock_metadata *t, struct pp_clock_link *link, const char *parent, int32_t hops);
