/* A ring file as items, a few hundred bytes for the 300 KiB of the smallest one. Used by fuzz_ring.c and ring_items.c. */
#pragma once

enum ring_item {
	RING_HEADER, /* bytes of the header: 3 bytes of offset, then what lies there */
	RING_RECORD, /* of thread `where`, behind its last one; the rest of it is 0 */
	RING_CHUNK,  /* thread `where` goes on in a new chunk */
	RING_LINK,   /* words of chunk `where` */
	RING_SLOT,   /* a slot from its state on */
	RING_WHERE,  /* the where-am-I line of a slot */
	RING_COMM,   /* a row of communicators */
	RING_DRAIN,  /* what is there is read now */
	RING_CUT,    /* the file ends here: 2 bytes, in pages */
	RING_AGAIN,  /* the last record, `where` more times, each a moment later */
	RING_LIVE,   /* read as by a keeper: chunks go back, and the oldest spans are evicted */
	RING_PATCH,  /* bytes in a chunk: 2 bytes of offset, then what lies there */
	RING_ITEMS,
};

enum { RING_ITEM_CHUNKS = 4, RING_ITEM_THREADS = 8 };
