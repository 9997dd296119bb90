/* Keeps readings of the wall clock and reports them; see wall_watch.h. Called by keeper.c, writing.c, pod_share.c and session.c. */
#include "aggregate/keeper/host/wall_watch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/now.h"
#include "core/clock/wall_read.h"

enum { EVERY_MS = 1000, RECENT = 256 };
static const int64_t SHORT_NS = 5000000; /* between the two readings that give the rate of the tick: 1e-4 of it at worst */
static const int64_t BEYOND_NS = INT64_C(3600000000000);

void pp_wall_watch_init(struct pp_wall_watch *w)
{
	int sees = pp_wall_claim_sees_host();

	memset(w, 0, sizeof(*w));
	pp_wall_claim_by(sees ? "/proc" : NULL, sees ? "/dev" : NULL, w->by);
}

void pp_wall_watch_release(struct pp_wall_watch *w)
{
	pp_wall_release(&w->wall);
	memset(w, 0, sizeof(*w));
}

/* Drops the reading that leaves the smallest gap, but none of the last minutes and not the first. */
static void drop_one(struct pp_wall_watch *w)
{
	size_t at = 1;
	int64_t least = INT64_MAX;

	for (size_t i = 1; i < PP_WALL_SAMPLES - RECENT; i++) {
		int64_t gap = w->sample[i + 1].tick_before - w->sample[i - 1].tick_before;

		at = gap < least ? i : at;
		least = gap < least ? gap : least;
	}
	memmove(&w->sample[at], &w->sample[at + 1], (PP_WALL_SAMPLES - at - 1) * sizeof(w->sample[0]));
	w->samples--;
}

static void keep(struct pp_wall_watch *w, const struct pp_wall_sample *s)
{
	if (w->samples == PP_WALL_SAMPLES)
		drop_one(w);
	w->sample[w->samples++] = *s;
	pp_wall_add(&w->wall, s); /* without memory for another era the gap looks like a step */
}

void pp_wall_watch_add(struct pp_wall_watch *w, const struct pp_wall_sample *s)
{
	int64_t ns = s->monotonic_ns - w->first.monotonic_ns;

	if (!w->has_first) {
		w->first = *s;
		w->has_first = 1;
		return;
	}
	if (!w->follows) {
		if (ns < SHORT_NS || pp_wall_init(&w->wall, (double)(s->tick_before - w->first.tick_before) / (double)ns, NULL))
			return;
		w->follows = 1;
		keep(w, &w->first);
	}
	keep(w, s);
}

static void take(struct pp_wall_watch *w, enum pp_tick_kind kind)
{
	struct pp_wall_sample s;

	pp_wall_read(kind, &s);
	pp_wall_watch_glance(w, &s);
	pp_wall_watch_add(w, &s);
}

void pp_wall_watch_edge(struct pp_wall_watch *w, enum pp_tick_kind kind)
{
	take(w, kind);
	if (w->follows)
		return;
	pp_nap_ms(SHORT_NS / 1000000); /* a job shorter than that gets a date too */
	take(w, kind);
}

static int64_t half_ns(const struct pp_wall_watch *w, const struct pp_wall_sample *s)
{
	return (int64_t)((double)(s->tick_after - s->tick_before) / 2 / w->wall.ticks_per_ns) + 1;
}

/* Do the two differ by more than the error of reading them? */
static int differ(const struct pp_wall_watch *w, const struct pp_wall_sample *a, const struct pp_wall_sample *b)
{
	int64_t error = 2 * (half_ns(w, a) + half_ns(w, b)),
	        set = (b->realtime_ns - b->boottime_ns) - (a->realtime_ns - a->boottime_ns);
	int64_t slept = (b->boottime_ns - b->monotonic_ns) - (a->boottime_ns - a->monotonic_ns);

	return llabs(set) > error || llabs(slept) > error;
}

int pp_wall_watch_glance(struct pp_wall_watch *w, const struct pp_wall_sample *s)
{
	struct pp_wall_sample before = w->glance;

	w->glance = *s;
	if (!w->follows || !before.tick_before || !differ(w, &before, s))
		return 0;
	if (before.tick_before > w->sample[w->samples - 1].tick_after)
		pp_wall_watch_add(w, &before);
	return 1;
}

void pp_wall_watch_run(struct pp_wall_watch *w, enum pp_tick_kind kind, int64_t now_ms)
{
	struct pp_wall_sample s;

	pp_wall_glance(kind, &s);
	if (!pp_wall_watch_glance(w, &s) && w->follows && now_ms - w->checked_ms < EVERY_MS)
		return;
	w->checked_ms = now_ms;
	take(w, kind);
}

static void fill_claim(const struct pp_wall_watch *w, struct pp_clock_claim *claim)
{
	struct pp_wall_claim reported;

	if (pp_wall_claim(&reported))
		return;
	*claim = (struct pp_clock_claim){.known = 1,
	                                 .synchronised = (int8_t)reported.synchronised,
	                                 .error_ns = reported.error_ns,
	                                 .error_most_ns = reported.error_most_ns,
	                                 .frequency_ppb = reported.frequency_ppb};
	snprintf(claim->by, sizeof(claim->by), "%s", w->by);
}

int pp_wall_watch_fill(const struct pp_wall_watch *w, struct pp_row_host_clock *c)
{
	struct pp_row_clock_wall *pair = calloc(w->samples + 1, sizeof(*pair));
	struct pp_row_clock_change *change = calloc(w->wall.steps + 1, sizeof(*change));

	if (!pair || !change) {
		free(pair);
		free(change);
		return -ENOMEM;
	}
	for (size_t i = 0; i < w->samples; i++) {
		const struct pp_wall_sample *s = &w->sample[i];

		pair[i] = (struct pp_row_clock_wall){0, s->tick_before + (s->tick_after - s->tick_before) / 2, s->realtime_ns,
		                                     half_ns(w, s)};
	}
	for (size_t i = 0; i < w->wall.steps; i++) {
		const struct pp_wall_step *s = &w->wall.step[i];

		change[i] = (struct pp_row_clock_change){0,        s->tick_after_which, s->tick_before_which,
		                                         s->by_ns, s->error_ns,         (int8_t)s->event};
	}
	c->pair = pair;
	c->pairs = w->samples;
	c->change = change;
	c->changes = w->wall.steps;
	c->changes_lost = w->wall.steps_lost;
	fill_claim(w, &c->claim);
	return 0;
}

int pp_wall_watch_tick(struct pp_wall_watch *w, int64_t realtime_ns, int64_t *ret_tick, int64_t *ret_error)
{
	struct pp_pieces chain;
	int rc = pp_wall_pieces(&w->wall, realtime_ns, BEYOND_NS, &chain, NULL);

	if (rc)
		return rc;
	*ret_tick = pp_pieces_map(&chain, realtime_ns);
	*ret_error = pp_pieces_bound(&chain, realtime_ns);
	pp_pieces_release(&chain);
	return 0;
}
