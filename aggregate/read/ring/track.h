/* A ring and its threads while they are read: what all readers of reader_list.def share. In: their spans. Out: blocks of them in
 * the store, and the extent, losses and identity of each thread. Internal to aggregate/read; one thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "aggregate/read/ring/reader.h"
#include "aggregate/read/ring/store.h"
#include "core/capture/span.h"
#include "core/ring/intern.h"
#include "core/ring/ring_file.h"

struct pp_track { /* one thread of a ring, for its lifetime */
	struct pp_track *next;
	struct pp_pair *pair;
	void *state[PP_READERS]; /* pp_track_state() */
	uint32_t slot, tid;      /* PP_NO_SLOT: a stream of a device, or a thread known by its calls of the device only */
	int is_main;
	uint32_t device, context; /* number + 1 of the stream's device; 0: a thread */
	int writes_of_others;     /* its slot has records for pp_reader_kind.take_of_slot */
	char name[32];
	int64_t first, last; /* ticks, first > last: none yet */
	struct pp_blocks blocks;
	uint32_t kinds;     /* PP_SPAN_BIT() of all spans that it ever had */
	uint32_t bytes;     /* of it and its states */
	uint64_t lost_seen; /* of the slot, when the last gap was read */
	int over;           /* its thread has ended */
	int torn;           /* records were lost: a pop without a push may be no fault of the program */
};

#define PP_NO_SLOT UINT32_MAX

struct pp_read_shared { /* what all rings of one pp_rings use */
	struct pp_store store;
	struct pp_intern *names, *payloads;
	char *text;                                  /* buffer for the longest text of a chunk */
	struct pp_reader_kind kind[PP_RECORD_KINDS]; /* who takes it; NONE: nobody */
};

struct pp_pair { /* one ring */
	struct pp_read_shared *shared;
	const struct pp_ring_header *header;
	pp_tick latest;   /* a record with a later tick is damaged, unless the clock has passed it meanwhile */
	pp_tick earliest; /* pp_ring_earliest(): an earlier record is damaged */
	int has_clock;    /* this host's clock is that of the ring */
	int is_left;      /* by a dead keeper: nobody cuts the file while it is read, so zeros among its records are damage */
	struct pp_track *tracks;                 /* newest first */
	struct pp_track *track[PP_RING_THREADS]; /* of the slot's thread now */
	void *state[PP_READERS];                 /* pp_pair_state() */
	uint64_t records;
	uint32_t emptied; /* threads whose spans were all evicted, since tracks were last freed */
	uint64_t lost[PP_LOSSES];
	int64_t horizon;
	int64_t last; /* tick of the last record: of threads that are forgotten, of all after pp_pair_close(); INT64_MIN: none */
};

#define PP_TICK_MOST ((pp_tick)1 << 62) /* a larger tick is damage: sums of two still fit */

/* What a reader knows of the ring, or of one thread: `size` bytes, zeroed by the first call. NULL: no memory. Freed with the ring
 * or the thread. Bytes of threads count towards the window buffer. */
void *pp_pair_state(struct pp_pair *p, enum pp_reader_number reader, size_t size);
void *pp_track_state(struct pp_track *track, enum pp_reader_number reader, size_t size);

/* Track without a slot; NULL: no memory. The ring frees it. */
struct pp_track *pp_track_make(struct pp_pair *p, uint32_t tid);
/* Frees it and its states. The caller has taken it out of pp_pair.tracks; its blocks are the store's. */
void pp_track_free(struct pp_track *track);

/* Is an end without a begin, or a begin without an end, a fault of the program? Not where records were lost, nor where a rank
 * records in windows only: ranges are open at their edges. */
int pp_track_is_unbalanced(const struct pp_track *track);

/* New span of the track, begin = end = `begin`; NULL: no memory, counted. */
struct pp_span *pp_track_add(struct pp_track *track, enum pp_span_kind kind, int64_t begin, uint32_t name);
/* The span is no longer open. An end before its begin becomes the begin. */
void pp_track_end_span(struct pp_span *s, int64_t end, uint8_t flags);

/* Id of a name or other text in pp_read_shared.names; 0: it is empty, or there is no room, which counts as a name that was cut. */
static inline uint32_t pp_pair_intern(struct pp_pair *p, const char *text, size_t length)
{
	uint32_t id = pp_intern_put(p->shared->names, text, length);

	if (!id && length)
		p->lost[PP_LOSS_NAME_CUT]++;
	return id;
}
