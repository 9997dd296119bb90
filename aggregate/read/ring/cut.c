/* Windows that end while ranks go on: drops a closed window's spans, and cuts a capture to one window. Called by the keeper. */
#include "aggregate/read/ring/cut.h"

#include <errno.h>
#include <string.h>

#include "aggregate/read/ring/reader.h"
#include "aggregate/read/ring/ring_losses.h"
#include "aggregate/read/ring/rings_private.h"
#include "core/capture/capture.h"
#include "core/capture/side.h"
#include "core/capture/thread.h"

void pp_rings_drop_between(struct pp_rings *r, size_t index, int64_t from, int64_t to)
{
	struct pp_ring *ring = r->ring[index];
	struct pp_pair *p = &ring->pair;
	uint64_t spans = 0;

	for (struct pp_track *track = p->tracks; track; track = track->next) {
		pp_store_drop(&r->shared.store, &track->blocks, track, from, to);
		spans += track->blocks.spans;
	}
	for (int i = 0; i < PP_READERS; i++)
		if (pp_reader_list[i]->drop_between)
			pp_reader_list[i]->drop_between(p, from, to);
	pp_ring_losses(ring, ring->lost_before);
	/* The remaining spans are records of later windows. */
	ring->records_before = spans < p->records ? p->records - spans : 0;
	pp_drain_finalise(ring->drain, spans);
}

void pp_rings_drop(struct pp_rings *r, size_t index, int64_t cut)
{
	pp_rings_drop_between(r, index, INT64_MIN, cut);
}

void pp_rings_keep(struct pp_rings *r, size_t index, int64_t cut)
{
	struct pp_pair *p = &r->ring[index]->pair;

	pp_rings_drop(r, index, cut);
	if (cut > p->horizon)
		p->horizon = cut;
}
