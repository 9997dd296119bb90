/* Collects spans of all threads in blocks; evicts the oldest blocks when the window buffer is full. In: spans from readers. Out:
 * blocks for finish.c. Internal to aggregate/read. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/capture/span.h"

enum {
	PP_SPAN_OPEN = 128, /* in pp_span.flags, inside the store only: the end is not known yet */
};

struct pp_track; /* the owner's: track.h */

struct pp_block {
	struct pp_block *older, *newer; /* of all tracks, by age */
	struct pp_block *next;          /* of this track */
	struct pp_track *track;
	size_t bytes;   /* of the mapping */
	size_t charged; /* bytes charged: all of a large block, the pages in use of a thread's first one */
	uint32_t used, room;
	uint32_t paid;        /* spans inside the charged bytes */
	struct pp_span *span; /* [room], a mapping of its own: whole pages, filled to the end before the next block begins */
};

struct pp_blocks { /* one track's */
	struct pp_block *first, *last;
	size_t spans;
};

/* What the store asks and tells the owner of its spans. const. */
struct pp_store_owner {
	int (*is_over)(const struct pp_track *track);        /* Required: its thread has ended */
	struct pp_blocks *(*blocks)(struct pp_track *track); /* Required */
	/* Required: spans of that many records were evicted, the last ended at `end`. */
	void (*evicted)(struct pp_track *track, uint64_t records, int64_t end);
	/* Required: an open span has a new address; NULL: it is lost. */
	void (*moved)(struct pp_track *track, const struct pp_span *old, struct pp_span *moved);
	void (*emptied)(struct pp_track *track); /* Required: the last span of an ended thread was evicted */
};

struct pp_store {
	const struct pp_store_owner *owner; /* set before the first span */
	struct pp_block *oldest, *newest;
	struct pp_block *spare; /* full-sized ones that were evicted */
	size_t bytes, buffer;
	size_t page;
	char *slab; /* address space in huge pages that the next blocks come from */
	size_t slab_left;
	int no_slabs; /* the system gave none */
};

/* Records of a span: two if it has two ends. */
static inline unsigned pp_store_records(const struct pp_span *s)
{
	return s->kind == PP_SPAN_RANGE || s->kind == PP_SPAN_ASYNC || s->kind == PP_SPAN_STEP ? 2 : 1;
}

/* Room for one more span of the track, zeroed; NULL: no memory. Stays where it is until pp_store_evict(). */
struct pp_span *pp_store_add(struct pp_store *s, struct pp_blocks *track_blocks, struct pp_track *track);
/* Evicts until the buffer limit holds. Open spans move to the track's last block, by moved(); evicted() counts the
 * others. */
void pp_store_evict(struct pp_store *s);
/* Drops closed spans of the track that ended in [from, to]; open ones stay, by moved(). */
void pp_store_drop(struct pp_store *s, struct pp_blocks *track_blocks, struct pp_track *track, int64_t from, int64_t to);
/* Takes the track's first block out, to be freed by pp_block_free(); NULL: none is left. */
struct pp_block *pp_store_pop(struct pp_store *s, struct pp_blocks *track_blocks);
/* Unmaps its spans too. */
void pp_block_free(struct pp_block *block);
/* Frees all blocks of all tracks, whose pp_blocks are dangling then. The limit and the owner stay. */
void pp_store_release(struct pp_store *s);
