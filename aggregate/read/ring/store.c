/* Blocks of spans and their eviction. Called by track.c, pair.c, cut.c, finish.c and rings.c. */
#include "aggregate/read/ring/store.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* 512 spans are whole pages: finish.c joins blocks by moving their pages. */
enum { FIRST_BYTES = 512 * sizeof(struct pp_span), BLOCK_BYTES = 8 * FIRST_BYTES };

/* Once a window is large, blocks come from slabs in huge pages: first touches of 4 KiB pages were a sixth of a window's close. */
enum { SLABS_FROM = 8 << 20, SLAB_BYTES = 64 * BLOCK_BYTES, HUGE_BYTES = 2 << 20 };

static void new_slab(struct pp_store *s)
{
	size_t all = SLAB_BYTES + HUGE_BYTES, before;
	char *p;

	if (s->slab_left)
		munmap(s->slab, s->slab_left);
	s->slab_left = 0;
	/* A block must be whole pages to be unmapped. */
	p = BLOCK_BYTES % (size_t)sysconf(_SC_PAGESIZE)
	            ? MAP_FAILED
	            : mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED) {
		s->no_slabs = 1;
		return;
	}
	before = (size_t)(-(uintptr_t)p & (HUGE_BYTES - 1));
	if (before)
		munmap(p, before);
	munmap(p + before + SLAB_BYTES, all - before - SLAB_BYTES);
	s->slab = p + before;
	s->slab_left = SLAB_BYTES;
	if (madvise(s->slab, SLAB_BYTES, MADV_HUGEPAGE))
		s->no_slabs = 1; /* use up the rest, a page at a time */
}

/* mmap, so that freed blocks leave the process; populated at once, which is cheaper than a fault per page. Except a thread's
 * first block: most of many threads are short, and use one page of it. */
static void *map_block(struct pp_store *s, size_t bytes)
{
	char *p;

	if (bytes == BLOCK_BYTES && s->bytes >= SLABS_FROM && !s->no_slabs && s->slab_left < bytes)
		new_slab(s);
	if (bytes != BLOCK_BYTES)
		return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (s->slab_left < bytes)
		return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	p = s->slab;
	s->slab += bytes;
	s->slab_left -= bytes;
#ifdef MADV_POPULATE_WRITE
	madvise(p, bytes, MADV_POPULATE_WRITE); /* for systems without huge pages; older kernels refuse, and fault later */
#endif
	return p;
}

static struct pp_block *make(struct pp_store *s, size_t bytes)
{
	struct pp_block *b = s->spare;
	struct pp_span *span;

	if (b && bytes == BLOCK_BYTES) {
		s->spare = b->next;
		span = b->span;
	} else {
		b = malloc(sizeof(*b));
		if (!b)
			return NULL;
		span = map_block(s, bytes);
		if (span == MAP_FAILED) {
			free(b);
			return NULL;
		}
		s->bytes += bytes == BLOCK_BYTES ? bytes : 0;
	}
	*b = (struct pp_block){.bytes = bytes, .room = (uint32_t)(bytes / sizeof(*span)), .span = span};
	if (bytes == BLOCK_BYTES) {
		b->charged = bytes;
		b->paid = b->room;
	}
	return b;
}

void pp_block_free(struct pp_block *block)
{
	munmap(block->span, block->bytes);
	free(block);
}

/* Charges the pages that the block's spans have touched. */
static __attribute__((noinline)) void charge(struct pp_store *s, struct pp_block *b)
{
	size_t touched = b->used * sizeof(b->span[0]);

	if (!s->page)
		s->page = (size_t)sysconf(_SC_PAGESIZE);
	touched = (touched + s->page - 1) / s->page * s->page;
	s->bytes += touched - b->charged;
	b->charged = touched;
	b->paid = (uint32_t)(touched / sizeof(b->span[0]));
}

static void unlink_age(struct pp_store *s, struct pp_block *b)
{
	*(b->older ? &b->older->newer : &s->oldest) = b->newer;
	*(b->newer ? &b->newer->older : &s->newest) = b->older;
}

/* This and charge() out of line: inlined, each call of pp_store_add() would save registers for them. */
static __attribute__((noinline)) struct pp_block *next_block(struct pp_store *s, struct pp_blocks *track_blocks,
                                                             struct pp_track *track)
{
	struct pp_block *b = track_blocks->last, *n = make(s, b ? BLOCK_BYTES : FIRST_BYTES);

	if (!n)
		return NULL;
	n->track = track;
	n->older = s->newest;
	*(s->newest ? &s->newest->newer : &s->oldest) = n;
	s->newest = n;
	*(b ? &b->next : &track_blocks->first) = n;
	track_blocks->last = n;
	return n;
}

struct pp_span *pp_store_add(struct pp_store *s, struct pp_blocks *track_blocks, struct pp_track *track)
{
	struct pp_block *b = track_blocks->last;
	struct pp_span *span;

	if (!b || b->used == b->room) {
		b = next_block(s, track_blocks, track);
		if (!b)
			return NULL;
	}
	span = &b->span[b->used++];
	if (b->used > b->paid)
		charge(s, b);
	track_blocks->spans++;
	memset(span, 0, sizeof(*span));
	return span;
}

struct pp_block *pp_store_pop(struct pp_store *s, struct pp_blocks *track_blocks)
{
	struct pp_block *b = track_blocks->first;

	if (!b)
		return NULL;
	track_blocks->first = b->next;
	if (!b->next)
		track_blocks->last = NULL;
	track_blocks->spans -= b->used;
	unlink_age(s, b);
	s->bytes -= b->charged;
	return b;
}

static void give_back(struct pp_store *s, struct pp_block *b)
{
	if (b->bytes == BLOCK_BYTES) {
		b->next = s->spare;
		s->spare = b;
		s->bytes += b->bytes;
	} else {
		pp_block_free(b);
	}
}

/* The track's first block, which is not its last. */
static void evict_block(struct pp_store *s, struct pp_block *b)
{
	struct pp_blocks *blocks = s->owner->blocks(b->track);
	uint64_t records = 0;
	int64_t end = INT64_MIN;

	pp_store_pop(s, blocks);
	for (uint32_t i = 0; i < b->used; i++) {
		struct pp_span *old = &b->span[i], *moved;

		if (!(old->flags & PP_SPAN_OPEN)) {
			records += pp_store_records(old);
			end = old->end > end ? old->end : end;
			continue;
		}
		moved = pp_store_add(s, blocks, b->track);
		if (moved)
			*moved = *old;
		s->owner->moved(b->track, old, moved);
	}
	s->owner->evicted(b->track, records, end);
	if (!blocks->first)
		s->owner->emptied(b->track);
	give_back(s, b);
}

static void free_spare(struct pp_store *s)
{
	while (s->spare) {
		struct pp_block *b = s->spare;

		s->spare = b->next;
		s->bytes -= b->bytes;
		pp_block_free(b);
	}
}

static void keep_span(struct pp_store *s, struct pp_blocks *blocks, struct pp_track *track, const struct pp_span *old)
{
	struct pp_span *moved = pp_store_add(s, blocks, track);

	if (moved)
		*moved = *old;
	if (old->flags & PP_SPAN_OPEN)
		s->owner->moved(track, old, moved);
	else if (!moved)
		s->owner->evicted(track, pp_store_records(old), old->end);
}

void pp_store_drop(struct pp_store *s, struct pp_blocks *track_blocks, struct pp_track *track, int64_t from, int64_t to)
{
	struct pp_block *first = track_blocks->first, *b, *next;

	/* All blocks are out before spans are rewritten, so that a block is never read and filled at once. */
	while (pp_store_pop(s, track_blocks))
		;
	for (b = first; b; b = next) {
		next = b->next;
		for (uint32_t i = 0; i < b->used; i++)
			if ((b->span[i].flags & PP_SPAN_OPEN) || b->span[i].end < from || b->span[i].end > to)
				keep_span(s, track_blocks, track, &b->span[i]);
		give_back(s, b);
	}
	if (s->spare && s->spare->next)
		free_spare(s);
}

void pp_store_evict(struct pp_store *s)
{
	struct pp_block *b = s->oldest, *end = s->newest;

	/* One spare is enough for the next block: more would be unused memory. */
	if (s->bytes > s->buffer && s->spare && s->spare->next)
		free_spare(s);
	/* Up to the newest block: moved spans may make blocks of their own, which must not be visited again. */
	while (b && b != end && s->bytes - (s->spare ? s->spare->bytes : 0) > s->buffer) {
		struct pp_block *newer = b->newer;
		struct pp_blocks *blocks = s->owner->blocks(b->track);

		if (b == blocks->first && (b != blocks->last || s->owner->is_over(b->track))) {
			if (s->spare)
				free_spare(s);
			evict_block(s, b);
		}
		b = newer;
	}
}

void pp_store_release(struct pp_store *s)
{
	free_spare(s);
	while (s->oldest) {
		struct pp_block *b = s->oldest;

		s->oldest = b->newer;
		pp_block_free(b);
	}
	if (s->slab_left)
		munmap(s->slab, s->slab_left);
	*s = (struct pp_store){.owner = s->owner, .buffer = s->buffer};
}
