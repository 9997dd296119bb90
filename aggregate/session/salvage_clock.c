/* Joins hosts whose spools are salvaged together; see salvage_clock.h. Called by close.c. */
#include "aggregate/session/salvage_clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/read/ring/ring_clock.h"
#include "core/capture/capture.h"
#include "core/capture/thread.h"
#include "core/clock/pieces_make.h"

void pp_salvage_clocks_release(struct pp_salvage_clocks *s)
{
	for (size_t i = 0; i < s->spools; i++) {
		pp_pieces_release(&s->spool[i].chain);
		pp_clock_metadata_release(&s->spool[i].exchange);
	}
	for (size_t i = 0; i < s->rows; i++) {
		pp_host_clock_release(&s->row[i]);
		pp_pieces_release(&s->pieces[i]);
	}
	free(s->spool);
	free(s->row);
	free(s->map);
	free(s->pieces);
	memset(s, 0, sizeof(*s));
}

int pp_salvage_clocks_any(const struct pp_salvage_clocks *s)
{
	for (size_t i = 0; i < s->spools; i++)
		if (s->spool[i].has_chain)
			return 1;
	return 0;
}

/* Number of the spool that has the rank's last ring, from 1. */
static uint32_t spool_of(const struct pp_salvage_clocks *s, const struct pp_rings *r, int32_t rank)
{
	for (size_t i = s->spools; i-- > 0;)
		for (size_t k = s->spool[i].ring; k < s->spool[i].ring + s->spool[i].rings; k++)
			if (!pp_rings_is_excluded(r, k) && pp_rings_header(r, k)->rank == rank)
				return (uint32_t)i + 1;
	return 0;
}

/* What is not joined is placed by its date, unless its ticks are the first ring's, which are the root's. */
static void place_rank(const struct pp_salvage_clocks *s, const struct pp_salvage_clock *clock, struct pp_rank *rank)
{
	size_t n = strlen(rank->clock);

	if (clock->joined) {
		snprintf(rank->clock, sizeof(rank->clock), "%s", s->root);
		rank->domain = rank->counts_other = rank->shifted = 0;
		return;
	}
	if (clock->own)
		snprintf(rank->clock + n, sizeof(rank->clock) - n, " of %s", rank->host);
	if (clock->own || !s->root_here)
		rank->shifted = !rank->counts_other;
}

void pp_salvage_clocks_place(struct pp_salvage_clocks *s, const struct pp_rings *r, struct pp_capture *c)
{
	int64_t from, to;

	for (size_t i = 0; i < c->ranks; i++)
		c->rank[i].host_clock = spool_of(s, r, c->rank[i].rank);
	for (size_t i = 0; i < s->spools; i++) {
		pp_clock_metadata_extent(c, (uint32_t)i + 1, 1, &from, &to);
		if (s->spool[i].has_chain && from <= to && pp_pieces_worst(&s->spool[i].chain, from, to) > INT64_MAX / 4)
			s->spool[i].joined = 0;
	}
	if (c->ranks && c->rank[0].host_clock && !s->spool[c->rank[0].host_clock - 1].joined)
		for (size_t i = 0; i < s->spools; i++)
			s->spool[i].joined = 0;
	for (size_t i = 0; i < c->ranks; i++)
		if (c->rank[i].host_clock)
			place_rank(s, &s->spool[c->rank[i].host_clock - 1], &c->rank[i]);
}

static int64_t root_of(const struct pp_salvage_clock *clock, int64_t tick)
{
	return clock->has_chain ? pp_pieces_map(&clock->chain, tick) : tick;
}

static int64_t ns_of(const struct pp_salvage_clock *clock, const struct pp_clock_map *map, int64_t tick)
{
	return pp_clock_map_ns(map, (pp_tick)root_of(clock, tick));
}

static int64_t earliest_of(const struct pp_salvage_clock *clock, const struct pp_rank *rank, const struct pp_clock_map *map)
{
	const int64_t open = ns_of(clock, map, rank->open_tick);
	int64_t earliest = open;

	for (size_t t = 0; t < rank->threads; t++) {
		int64_t first = rank->thread[t].first ? ns_of(clock, map, rank->thread[t].first) : open;

		if (first < earliest)
			earliest = first;
	}
	return earliest;
}

int64_t pp_salvage_clocks_latest(const struct pp_salvage_clocks *s, const struct pp_capture *c)
{
	int64_t latest = INT64_MIN;

	for (size_t i = 0; i < c->ranks; i++) {
		const struct pp_rank *rank = &c->rank[i];
		int64_t last;

		if (!rank->host_clock || !s->spool[rank->host_clock - 1].joined || rank->recorded_to == INT64_MIN)
			continue;
		last = root_of(&s->spool[rank->host_clock - 1], rank->recorded_to);
		latest = last > latest ? last : latest;
	}
	return latest;
}

int64_t pp_salvage_clocks_earliest(const struct pp_salvage_clocks *s, const struct pp_capture *c, const struct pp_clock_map *map)
{
	int64_t earliest = INT64_MAX;

	for (size_t i = 0; i < c->ranks; i++) {
		const struct pp_rank *rank = &c->rank[i];
		int64_t first;

		if (!rank->host_clock || !s->spool[rank->host_clock - 1].joined)
			continue;
		first = earliest_of(&s->spool[rank->host_clock - 1], rank, map);
		earliest = first < earliest ? first : earliest;
	}
	return earliest < INT64_MAX ? earliest : 0;
}

/* The chain of lines from this host's ticks to job ns. */
static int to_job(const struct pp_salvage_clock *clock, const struct pp_clock_map *map, struct pp_pieces *ret, struct pp_err *err)
{
	return clock->joined && clock->has_chain ? pp_pieces_to_job(&clock->chain, map, ret, err) : 0;
}

static int make_row(struct pp_salvage_clocks *s, size_t i, const struct pp_rings *r, const struct pp_capture *c, struct pp_err *err)
{
	const struct pp_salvage_clock *clock = &s->spool[i];
	const struct pp_ring_header *h = pp_rings_header(r, clock->ring);
	struct pp_clock_metadata counts = clock->exchange; /* without the comparisons, which the map does not fit */
	char own[sizeof(s->row->own)] = "", host[sizeof(h->host) + 1];
	struct pp_clock_metadata_input in = {.exchange = clock->joined ? &clock->exchange : &counts,
	                                     .map = &s->map[i],
	                                     .first = clock->joined && clock->last.tick > clock->first.tick ? &clock->first : NULL,
	                                     .last = &clock->last,
	                                     .kind = (enum pp_tick_kind)h->tick_kind,
	                                     .host = host,
	                                     .own = own,
	                                     .bound_ns = clock->joined ? 0 : PP_BOUND_UNKNOWN};

	snprintf(host, sizeof(host), "%.*s", (int)sizeof(h->host), h->host);
	counts.nodes = 0;
	counts.node = NULL;
	pp_rings_name_clock(h->boot_id, h->timens_ns, h->tick_kind, own, sizeof(own));
	if (clock->own)
		snprintf(own + strlen(own), sizeof(own) - strlen(own), " of %s", in.host);
	pp_clock_metadata_extent(c, (uint32_t)i + 1, 1, &in.from_tick, &in.to_tick);
	if (in.from_tick > in.to_tick)
		in.from_tick = in.to_tick = (int64_t)h->open_tick;
	if (s->map[i].pieces)
		in.bound_ns = pp_pieces_worst(s->map[i].pieces, in.from_tick, in.to_tick);
	return pp_clock_metadata_finish(&in, &s->row[i], err);
}

int pp_salvage_clocks_map(struct pp_salvage_clocks *s, const struct pp_rings *r, const struct pp_capture *c,
                          const struct pp_clock_map *map, struct pp_err *err)
{
	int rc = 0;

	s->row = calloc(s->spools + 1, sizeof(*s->row));
	s->map = calloc(s->spools + 1, sizeof(*s->map));
	s->pieces = calloc(s->spools + 1, sizeof(*s->pieces));
	if (!s->row || !s->map || !s->pieces)
		return pp_err_set(err, -ENOMEM, "no memory for the clocks of %zu hosts", s->spools);
	s->rows = s->spools;
	for (size_t i = 0; i < s->spools && !rc; i++) {
		s->map[i] = *map;
		rc = to_job(&s->spool[i], map, &s->pieces[i], err);
		s->map[i].pieces = s->pieces[i].pieces ? &s->pieces[i] : NULL;
		if (!rc)
			rc = make_row(s, i, r, c, err);
	}
	return rc;
}
