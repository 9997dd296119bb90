/* Gives the records of one ring to their readers: text, ticks, threads and dispatch by kind. In: records from core/ring/drain. Out:
 * spans in the store, states of the readers. Internal to aggregate/read; one thread. */
#pragma once

#include <stdint.h>

#include "aggregate/read/ring/track.h"
#include "core/ring/drain.h"
#include "core/ring/ring_file.h"

enum { PP_TEXT_ROOM = PP_CHUNK_RECORDS * PP_RECORD_CONT_TEXT + PP_TEXT_INLINE };

/* Once, before the first ring: `shared` then knows the readers, and its store the tracks. */
void pp_pair_share(struct pp_read_shared *shared);
/* `shared` and `header` outlive it. Released by pp_pair_release(). */
void pp_pair_init(struct pp_pair *p, struct pp_read_shared *shared, const struct pp_ring_header *header);
/* The ring's ticks are those of this host's clock: no record of it is later than now. */
void pp_pair_know_clock(struct pp_pair *p);
/* Frees tracks and states; blocks stay in the store. */
void pp_pair_release(struct pp_pair *p);
/* Sinks of core/ring/drain; context is the struct pp_pair. Records of a slot in order; and: its thread has ended, all of its
 * records came. */
void pp_pair_records(void *context, uint32_t slot, const struct pp_record *record, uint32_t count);
void pp_pair_ended(void *context, uint32_t slot);
/* At the very end, once: closes all threads, as a range or request may end on another thread than the one it began on. */
void pp_pair_close(struct pp_pair *p);
