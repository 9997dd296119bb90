/* Clocks of hosts in a block: one line a field, in both directions. Called by block_fields.c. */
#include <errno.h>

#include "aggregate/dataset/block_io.h"
#include "aggregate/dataset/dataset.h"

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

static void do_clock(struct pp_block_io *io, struct pp_host_clock *c)
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
	PP_BLOCK_U(io, c->changes_lost);
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
		do_clock(io, &d->host_clock[i]);
	for (size_t w = 0; w < d->workers; w++) {
		PP_BLOCK_U(io, d->worker[w].host_clock);
		if (d->worker[w].host_clock > d->host_clocks)
			pp_block_fault(io, -EBADMSG, "a worker's clock");
	}
}
