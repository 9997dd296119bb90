/* The wall clock of this host as its keeper watches it: readings, steps of the date, suspends, and who says that the date is right.
 * In: turns of the keeper, each with a glance, a reading about once a second and before each window is written; no turn is added.
 * Out: dates of ticks and ticks of dates, each with a bound, and the wall clock's part of pp_host_clock. One thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "aggregate/dataset/host_clock.h"
#include "aggregate/keeper/host/wall_claim.h"
#include "core/base/err.h"
#include "core/clock/clock_map.h"
#include "core/clock/wall.h"

enum { PP_WALL_KEPT = 1024 }; /* readings; where there are more, old ones are thinned evenly */

struct pp_wall_watch {
	int has_first, follows; /* follows: the rate of the tick is known, `wall` holds all readings */
	struct pp_wall_sample first;
	struct pp_wall wall;
	struct pp_wall_sample kept[PP_WALL_KEPT]; /* in order */
	size_t samples;
	struct pp_wall_sample glance; /* of the last turn */
	int64_t looked_ms;
	char by[PP_WALL_CLAIM_BY]; /* who disciplines the date, as seen when the watch began */
};

/* Looks once who disciplines the date. */
void pp_wall_watch_init(struct pp_wall_watch *w);
void pp_wall_watch_release(struct pp_wall_watch *w);
/* One turn: a glance at the clocks, and a reading where the last one is a second old or the glance shows that something was done to
 * them since the turn before. `now_ms` is pp_now_ms(). */
void pp_wall_watch_run(struct pp_wall_watch *w, enum pp_tick_kind kind, int64_t now_ms);
/* An edge of a window: takes a reading now, and where there was none 5 ms ago, another one 5 ms later. */
void pp_wall_watch_edge(struct pp_wall_watch *w, enum pp_tick_kind kind);
/* What a turn does with its glance: 1, something was done to the clocks, and the glance before it is a reading now. */
int pp_wall_watch_glance(struct pp_wall_watch *w, const struct pp_wall_sample *s);
/* A reading that somebody else took. */
void pp_wall_watch_add(struct pp_wall_watch *w, const struct pp_wall_sample *s);

/* All that is known, in ticks where pp_host_clock has job ns: pair[], change[], changes_lost, claim.
 * The rest of `c` stays as it is. -ENOMEM: nothing was put there. */
int pp_wall_watch_tell(const struct pp_wall_watch *w, struct pp_host_clock *c);
/* What a date of this host is in its ticks, and |error| in ticks; INT64_MAX: not known. */
int pp_wall_watch_tick(struct pp_wall_watch *w, int64_t realtime_ns, int64_t *ret_tick, int64_t *ret_error);
