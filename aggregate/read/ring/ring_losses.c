/* Adds up what a ring has lost; see ring_losses.h. Called by cut.c and finish.c. */
#include "aggregate/read/ring/ring_losses.h"

#include <string.h>

#define RECORDS_MOST ((uint64_t)1 << 48) /* years of the fastest rank */

/* A count that cannot be is itself damaged. */
static void count(uint64_t lost[PP_LOSSES], enum pp_loss cause, uint64_t records)
{
	if (records > RECORDS_MOST)
		lost[PP_LOSS_BAD_RECORD]++;
	else
		lost[cause] += records;
}

void pp_ring_losses(const struct pp_ring *ring, uint64_t lost[PP_LOSSES])
{
	const struct pp_ring_header *h = pp_drain_header(ring->drain);
	uint32_t threads = pp_ring_thread_used(h);

	memcpy(lost, ring->pair.lost, sizeof(ring->pair.lost));
	for (uint32_t i = 0; i < threads && i < PP_RING_THREADS; i++)
		for (int c = 0; c < PP_RING_LOSSES; c++)
			count(lost, (enum pp_loss)c, pp_slot_lost(&h->thread[i], c));
	count(lost, PP_LOSS_NO_THREAD, pp_ring_lost_threads(h));
	lost[PP_LOSS_BAD_RECORD] += pp_drain_faults(ring->drain);
	lost[PP_LOSS_RING_CUT] += pp_drain_cut(ring->drain);
	count(lost, PP_LOSS_KEEPER_GONE, pp_drain_gone(ring->drain));
}
