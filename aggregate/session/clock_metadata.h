/* Describes this host's clock for the dataset. The pod fills it before it forks the writer (pp_clock_metadata_take(),
 * keeper/clock/clock_link.c); close.c finishes it in that child. In: the exchange with other hosts, from the parent, as a child
 * must not touch a link; the watch over the wall clock; the map of ticks. Out: pp_host_clock in job ns, cut to the window. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "aggregate/dataset/host_clock.h"
#include "core/base/err.h"
#include "core/clock/band.h"
#include "core/clock/clock_map.h"

struct pp_capture;

struct pp_clock_metadata { /* of the exchange; zero: there is none */
	char parent[72];
	int32_t hops;
	struct pp_band_node *node; /* own ticks to the parent's */
	size_t nodes;
	uint64_t rounds, trips, lost, impossible, foreign;
	int64_t round_ns, cpu_ns;
};

/* Frees the nodes; it is then the zero of no exchange. */
void pp_clock_metadata_release(struct pp_clock_metadata *t);
/* The counts of the exchange as text: the parent prints them for a child that was forked before the window's last round, and the
 * child parses them. */
void pp_clock_metadata_print(const struct pp_clock_metadata *t, char *text, size_t size);
void pp_clock_metadata_scan(const char *text, struct pp_row_host_clock *c);

struct pp_clock_metadata_input {
	const struct pp_clock_metadata *exchange; /* NULL: no other host */
	struct pp_row_host_clock *wall;           /* NULL: not watched; pair[] and change[] in ticks: moved out of it */
	const struct pp_clock_map *map;           /* of this host's ticks */
	const struct pp_clock_pair *first, *last; /* first NULL: not known; last NULL: now */
	enum pp_tick_kind kind;
	const char *host, *own;
	int64_t from_tick, to_tick; /* range of the comparisons */
	int64_t bound_ns;           /* bound in that range; 0: job time is this clock's; PP_BOUND_UNKNOWN: it is not joined */
};

/* In the child. -ENOMEM. */
int pp_clock_metadata_finish(const struct pp_clock_metadata_input *in, struct pp_row_host_clock *ret, struct pp_err *err);
/* Range of ticks by which hosts are compared, for ranks with this pp_rank.host_clock: steps and calls on communicators; where there
 * are none, or with `all`, all spans. from > to: nothing was recorded. */
void pp_clock_metadata_extent(const struct pp_capture *c, uint32_t host_clock, int all, int64_t *ret_from, int64_t *ret_to);
