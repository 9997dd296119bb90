/* Clocks of hosts in a block: one line a field, in both directions. Called by block_fields.c. */
#include <errno.h>

#include "aggregate/dataset/block_io.h"
#include "aggregate/dataset/dataset.h"
#include "core/clock/wall.h"

enum { HOPS_MOST = 16 };

/* A bound is a length of time, or not known; the commonest is the one before it. */
static void do_bound(struct pp_block_io *io, int64_t *bound, int64_t base)
{
	uint64_t known = *bound != PP_BOUND_UNKNOWN;

	pp_block_u(io, &known);
	if (known)
		PP_BLOCK_T(io, *bound, base == PP_BOUND_UNKNOWN ? 0 : base);
	else
		*bound = PP_BOUND_UNKNOWN;
	if (known > 1 || *bound < 0)
		pp_block_fault(io, -EBADMSG, "the bound of a clock");
}

static void do_samples(struct pp_block_io *io, struct pp_host_clock *c, int64_t begin_ns)
{
	c->sample = pp_block_array(io, c->sample, &c->samples, sizeof(*c->sample), 9);
	for (size_t i = 0; i < c->samples; i++) {
		struct pp_clock_sample *s = &c->sample[i];

		PP_BLOCK_T(io, s->time_ns, i ? s[-1].time_ns : begin_ns);
		do_bound(io, &s->half_ns, i ? s[-1].half_ns : 0);
		PP_BLOCK_T(io, s->residual_ns, 0);
		pp_block_delta(io, &s->t1, i ? s[-1].t1 : 0, 0);
		pp_block_delta(io, &s->t2, i ? s[-1].t2 : s->t1, 0);
		pp_block_delta(io, &s->t3, s->t2, 0);
		pp_block_delta(io, &s->t4, s->t1, 0);
		PP_BLOCK_S(io, s->trips);
		PP_BLOCK_U(io, s->flags);
		if (s->trips < 0 || (i && s->time_ns < s[-1].time_ns))
			pp_block_fault(io, -EBADMSG, "a comparison of clocks");
	}
}

static void do_stretches(struct pp_block_io *io, struct pp_host_clock *c, int64_t begin_ns)
{
	c->stretch = pp_block_array(io, c->stretch, &c->stretches, sizeof(*c->stretch), 8);
	for (size_t i = 0; i < c->stretches; i++) {
		struct pp_clock_stretch *s = &c->stretch[i];

		PP_BLOCK_T(io, s->begin_ns, i ? s[-1].end_ns : begin_ns);
		PP_BLOCK_T(io, s->end_ns, s->begin_ns);
		do_bound(io, &s->bound_begin_ns, i ? s[-1].bound_end_ns : 0);
		do_bound(io, &s->bound_end_ns, s->bound_begin_ns);
		PP_BLOCK_T(io, s->bound_hump_ns, 0);
		PP_BLOCK_U(io, s->flags);
		if (s->end_ns < s->begin_ns || (i && s->begin_ns < s[-1].end_ns) || s->bound_hump_ns < 0)
			pp_block_fault(io, -EBADMSG, "a clock's bound over time");
	}
}

static void do_wall(struct pp_block_io *io, struct pp_host_clock *c, int64_t begin_ns)
{
	c->pair = pp_block_array(io, c->pair, &c->pairs, sizeof(*c->pair), 4);
	for (size_t i = 0; i < c->pairs; i++) {
		struct pp_wall_pair *p = &c->pair[i];

		PP_BLOCK_T(io, p->time_ns, i ? p[-1].time_ns : begin_ns);
		pp_block_delta(io, &p->realtime_ns, i ? p[-1].realtime_ns : 0, 0);
		do_bound(io, &p->half_ns, i ? p[-1].half_ns : 0);
		if (i && p->time_ns < p[-1].time_ns)
			pp_block_fault(io, -EBADMSG, "a date");
	}
	c->change = pp_block_array(io, c->change, &c->changes, sizeof(*c->change), 5);
	for (size_t i = 0; i < c->changes; i++) {
		struct pp_wall_change *w = &c->change[i];

		PP_BLOCK_T(io, w->from_ns, i ? w[-1].to_ns : begin_ns);
		PP_BLOCK_T(io, w->to_ns, w->from_ns);
		PP_BLOCK_S(io, w->by_ns);
		PP_BLOCK_S(io, w->error_ns);
		PP_BLOCK_S(io, w->event);
		if (w->to_ns < w->from_ns || w->error_ns < 0 || w->event < 0 || w->event > PP_WALL_SUSPENDED)
			pp_block_fault(io, -EBADMSG, "a step of the wall clock");
	}
	PP_BLOCK_U(io, c->changes_lost);
}

static void do_claim(struct pp_block_io *io, struct pp_clock_claim *c)
{
	PP_BLOCK_S(io, c->known);
	PP_BLOCK_S(io, c->synchronised);
	PP_BLOCK_S(io, c->error_ns);
	PP_BLOCK_S(io, c->error_most_ns);
	PP_BLOCK_S(io, c->frequency_ppb);
	PP_BLOCK_TEXT(io, c->by);
	if (c->known < 0 || c->known > 1 || c->synchronised < 0 || c->synchronised > 1)
		pp_block_fault(io, -EBADMSG, "what is claimed of a clock");
}

static void do_clock(struct pp_block_io *io, struct pp_host_clock *c, const struct pp_dataset *d)
{
	PP_BLOCK_TEXT(io, c->host);
	PP_BLOCK_TEXT(io, c->own);
	PP_BLOCK_TEXT(io, c->parent);
	PP_BLOCK_S(io, c->hops);
	PP_BLOCK_S(io, c->offset_ns);
	PP_BLOCK_S(io, c->drift_ppb);
	do_bound(io, &c->drift_error_ppb, 0);
	do_bound(io, &c->bound_ns, 0);
	if (c->hops < 0 || c->hops > HOPS_MOST)
		pp_block_fault(io, -EBADMSG, "how far a clock is from rank 0's");
	do_samples(io, c, d->window_begin_ns);
	do_stretches(io, c, d->window_begin_ns);
	do_wall(io, c, d->window_begin_ns);
	do_claim(io, &c->claim);
	PP_BLOCK_U(io, c->rounds);
	PP_BLOCK_U(io, c->trips);
	PP_BLOCK_U(io, c->lost);
	PP_BLOCK_U(io, c->impossible);
	PP_BLOCK_U(io, c->foreign);
	PP_BLOCK_T(io, c->round_ns, 0);
	PP_BLOCK_T(io, c->cpu_ns, 0);
}

void pp_block_clocks(struct pp_block_io *io, struct pp_dataset *d)
{
	d->host_clock = pp_block_array(io, d->host_clock, &d->host_clocks, sizeof(*d->host_clock), 24);
	for (size_t i = 0; i < d->host_clocks; i++)
		do_clock(io, &d->host_clock[i], d);
	for (size_t w = 0; w < d->workers; w++) {
		PP_BLOCK_U(io, d->worker[w].host_clock);
		if (d->worker[w].host_clock > d->host_clocks)
			pp_block_fault(io, -EBADMSG, "a worker's clock");
	}
}
