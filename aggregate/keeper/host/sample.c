/* Schedules the samples of the ranks' processes, and stores them; see sample.h. Called by keeper.c and close.c. */
#include "aggregate/keeper/host/sample.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/tick.h"

enum {
	LEAST_NS = 100000000,      /* ten a second */
	LEAST_PSS_NS = 1000000000, /* per rank: the kernel walks every page of the process for it */
	COST = 200,                /* samples, and samples of PSS, may take 1/200 of a core each */
	MOST_SAMPLES = 65536,      /* per rank */
};

static int64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void pp_sampler_init(struct pp_sampler *s, const char *proc)
{
	*s = (struct pp_sampler){.proc = proc, .least_ns = LEAST_NS, .period_ns = LEAST_NS};
}

void pp_sampler_release(struct pp_sampler *s)
{
	for (size_t i = 0; i < s->rings; i++)
		free(s->ring[i].memory);
	free(s->ring);
	*s = (struct pp_sampler){0};
}

static int know_rings(struct pp_sampler *s, size_t rings)
{
	struct pp_sampled *ring;

	if (rings <= s->rings)
		return 0;
	ring = realloc(s->ring, rings * sizeof(*ring));
	if (!ring)
		return -ENOMEM;
	memset(ring + s->rings, 0, (rings - s->rings) * sizeof(*ring));
	s->ring = ring;
	s->rings = rings;
	s->next_ns = 0; /* a new rank is sampled at once */
	return 0;
}

/* Drops every second sample of all ranks, and doubles the period. */
static void thin_out(struct pp_sampler *s)
{
	for (size_t i = 0; i < s->rings; i++) {
		struct pp_sampled *r = &s->ring[i];
		size_t kept = 0;

		for (size_t k = 0; k < r->used; k += 2)
			r->memory[kept++] = r->memory[k];
		r->used = kept;
	}
	s->least_ns *= 2;
}

static int make_room(struct pp_sampler *s, struct pp_sampled *r)
{
	size_t room = r->room ? r->room * 2 : 256;
	struct pp_memory *memory;

	if (r->used >= MOST_SAMPLES)
		thin_out(s);
	if (r->used < r->room)
		return 0;
	memory = realloc(r->memory, room * sizeof(*memory));
	if (!memory)
		return -ENOMEM;
	r->memory = memory;
	r->room = room;
	return 0;
}

/* A window may be shorter than the period: a rank that begins to record is sampled at once. */
static int any_begins(struct pp_sampler *s, const struct pp_rings *rings)
{
	int any = 0;

	for (size_t i = 0; i < s->rings; i++) {
		int recording = pp_ring_recording(pp_rings_header(rings, i)) != 0;

		any |= recording && !s->ring[i].recording;
		s->ring[i].recording = recording;
	}
	return any;
}

static void look_at(struct pp_sampler *s, const struct pp_rings *rings, size_t index, int64_t now, int with_pss)
{
	const struct pp_ring_header *h = pp_rings_header(rings, index);
	struct pp_sampled *r = &s->ring[index];
	const char *note = NULL;
	struct pp_memory m;
	int rc;

	if (!r->recording || (r->looked_ns && now - r->looked_ns < s->least_ns) || make_room(s, r))
		return;
	r->looked_ns = now;
	rc = pp_sample_process(s->proc, h->pid, h->start_time, rings, with_pss, &m, &note);
	if (rc == -ESRCH && r->used) /* it has just ended */
		return;
	if (rc)
		snprintf(r->note, sizeof(r->note), "memory is not sampled: %s/%d cannot be read (%s)", s->proc, h->pid,
		         rc == -EACCES ? "not permitted" : "not there, or hidden from this user");
	else if (note)
		snprintf(r->note, sizeof(r->note), "%s", note);
	if (rc)
		return;
	pp_tick_kind = (int)h->tick_kind;
	m.time = (int64_t)pp_tick_now();
	r->memory[r->used++] = m;
}

static int64_t period_of(int64_t cost_ns, int64_t least_ns)
{
	return cost_ns * COST > least_ns ? cost_ns * COST : least_ns;
}

void pp_sampler_run(struct pp_sampler *s, const struct pp_rings *rings)
{
	size_t count = pp_rings_count(rings);
	int64_t now, cost;
	int begins, with_pss;

	if (!count || know_rings(s, count))
		return;
	begins = any_begins(s, rings);
	now = clock_ns(CLOCK_MONOTONIC);
	if (now < s->next_ns && !begins)
		return;
	with_pss = now >= s->next_pss_ns;
	if (with_pss)
		s->pss_turn = (s->pss_turn + 1) % count;
	cost = -clock_ns(CLOCK_THREAD_CPUTIME_ID);
	for (size_t i = 0; i < count; i++)
		look_at(s, rings, i, now, with_pss && i == s->pss_turn);
	cost += clock_ns(CLOCK_THREAD_CPUTIME_ID);
	if (with_pss)
		s->next_pss_ns = now + period_of(cost, LEAST_PSS_NS / (int64_t)count);
	else
		s->period_ns = period_of(cost, s->least_ns);
	s->next_ns = now + (s->period_ns > s->least_ns ? s->period_ns : s->least_ns);
}

void pp_sampler_drop(struct pp_sampler *s, size_t ring, int64_t cut)
{
	struct pp_sampled *r = ring < s->rings ? &s->ring[ring] : NULL;
	size_t kept = 0;

	for (size_t i = 0; r && i < r->used; i++)
		if (r->memory[i].time > cut)
			r->memory[kept++] = r->memory[i];
	if (r)
		r->used = kept;
}

static struct pp_rank *find_rank(struct pp_capture *c, int32_t number)
{
	for (size_t i = 0; i < c->ranks; i++)
		if (c->rank[i].rank == number)
			return &c->rank[i];
	return NULL;
}

static int by_time(const void *a, const void *b)
{
	const struct pp_memory *x = a, *y = b;

	return (x->time > y->time) - (x->time < y->time);
}

void pp_sampler_give(struct pp_sampler *s, const struct pp_rings *rings, struct pp_capture *c)
{
	for (size_t i = 0; i < s->rings && i < pp_rings_count(rings); i++) {
		struct pp_rank *rank = find_rank(c, pp_rings_header(rings, i)->rank);
		struct pp_sampled *r = &s->ring[i];
		struct pp_memory *all;

		if (!rank || pp_rings_is_excluded(rings, i))
			continue;
		memcpy(rank->memory_note, r->note, sizeof(r->note));
		all = r->used ? realloc(rank->memory, (rank->memories + r->used) * sizeof(*all)) : NULL;
		if (!all)
			continue;
		memcpy(all + rank->memories, r->memory, r->used * sizeof(*all));
		rank->memory = all;
		rank->memories += r->used;
		qsort(all, rank->memories, sizeof(*all), by_time);
	}
	c->memory_period_ns = s->period_ns;
}
