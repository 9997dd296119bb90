/* Watches this host's wall clock: readings, steps, suspends, and what disciplines it. In: turns of the keeper, each with a
 * glance; a reading about once a second and before each window is written. Out: dates of ticks and ticks of dates, each with a
 * bound, and the wall clock's part of pp_host_clock. One thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "aggregate/dataset/host_clock.h"
#include "aggregate/keeper/host/wall_claim.h"
#include "core/base/err.h"
#include "core/clock/wall.h"

enum { PP_WALL_SAMPLES = 1024 }; /* readings; beyond that old ones are thinned evenly */

struct pp_wall_watch {
	int has_first, follows; /* follows: the rate of the tick is known, `wall` holds all readings */
	struct pp_wall_sample first;
	struct pp_wall wall;
	struct pp_wall_sample sample[PP_WALL_SAMPLES]; /* in order */
	size_t samples;
	struct pp_wall_sample glance; /* of the last turn */
	int64_t checked_ms;
	char by[PP_WALL_CLAIM_BY]; /* what disciplines the wall clock, as seen when the watch began */
};

/* Looks once what disciplines the wall clock. */
void pp_wall_watch_init(struct pp_wall_watch *w);
void pp_wall_watch_release(struct pp_wall_watch *w);
/* One turn: a glance at the clocks, and a reading where the last one is a second old or the glance shows that the clocks were
 * set since the turn before. `now_ms` is pp_now_ms(). */
void pp_wall_watch_run(struct pp_wall_watch *w, enum pp_tick_kind kind, int64_t now_ms);
/* At an edge of a window: takes a reading now, and where there was none 5 ms ago, another one 5 ms later. */
void pp_wall_watch_edge(struct pp_wall_watch *w, enum pp_tick_kind kind);
/* Evaluates a turn's glance. 1: the clocks were set, and the glance before it becomes a reading. */
int pp_wall_watch_glance(struct pp_wall_watch *w, const struct pp_wall_sample *s);
/* Adds a reading taken by the caller. */
void pp_wall_watch_add(struct pp_wall_watch *w, const struct pp_wall_sample *s);

/* All that is known, in ticks where pp_host_clock has job ns: pair[], change[], changes_lost, claim.
 * The rest of `c` stays as it is. -ENOMEM: nothing was put there. */
int pp_wall_watch_fill(const struct pp_wall_watch *w, struct pp_row_host_clock *c);
/* Converts a date of this host to its ticks, with |error| in ticks; INT64_MAX: not known. */
int pp_wall_watch_tick(struct pp_wall_watch *w, int64_t realtime_ns, int64_t *ret_tick, int64_t *ret_error);
