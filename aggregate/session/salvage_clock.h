/* The clocks of hosts whose spools are salvaged together. Called by close.c and session.c. In: the ranks of all hosts in ticks, and
 * for each spool the chain from its ticks to those of the root, which is rank 0's keeper (keeper/clock/clock_salvage.c makes it).
 * Out: one map for each joined host, so that its ranks are in the root's clock domain, and its row of /clock. Hosts that are not
 * joined keep a domain of their own. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "aggregate/dataset/host_clock.h"
#include "aggregate/read/ring/rings.h"
#include "aggregate/session/clock_metadata.h"
#include "core/clock/clock_map.h"
#include "core/clock/pieces.h"

struct pp_salvage_clock {                  /* of one spool */
	size_t ring, rings;                /* its rings */
	int joined;                        /* its ticks are the root's, or there is a chain to them: */
	int has_chain, own;                /* own: another host's clock has its name, and is another one */
	struct pp_pieces chain;            /* to the root's ticks */
	struct pp_clock_metadata exchange; /* zero: there is no file of it */
	struct pp_clock_pair first, last;  /* readings of its own ticks; equal: there are none */
};

struct pp_salvage_clocks {
	struct pp_salvage_clock *spool; /* in the order in which their rings were opened */
	size_t spools;
	struct pp_clock_pair first, last; /* readings of the root's ticks; equal: there are none */
	char root[128];                   /* pp_rank.clock of the root's ranks */
	int root_here;                    /* the first ring is of the root's clock; else the root's host is not among the spools */
	/* Made by pp_salvage_clocks_map(), one for each spool: */
	struct pp_row_host_clock *row;
	struct pp_clock_map *map;
	struct pp_pieces *pieces; /* own ticks to job ns */
	size_t rows;
};

/* Has a host a clock that is mapped to another one's? Else nothing below is needed. */
int pp_salvage_clocks_any(const struct pp_salvage_clocks *s);
/* Sets pp_rank.host_clock, and puts ranks of joined hosts into the root's domain. A host whose bound is unknown is not joined, and
 * none is where the first rank's is not. */
void pp_salvage_clocks_place(struct pp_salvage_clocks *s, const struct pp_rings *r, struct pp_capture *c);
/* The root's tick at the last record of joined hosts. INT64_MIN: there is none. */
int64_t pp_salvage_clocks_latest(const struct pp_salvage_clocks *s, const struct pp_capture *c);
/* Job ns of the first tick of joined hosts, by `map` of the root's ticks. */
int64_t pp_salvage_clocks_earliest(const struct pp_salvage_clocks *s, const struct pp_capture *c, const struct pp_clock_map *map);
/* Makes maps and rows. `map`: of the root's ticks. */
int pp_salvage_clocks_map(struct pp_salvage_clocks *s, const struct pp_rings *r, const struct pp_capture *c,
                          const struct pp_clock_map *map, struct pp_err *err);
void pp_salvage_clocks_release(struct pp_salvage_clocks *s);
