/* Bytes of a fuzzer as a list of items: what, where, how many bytes, the bytes. Damage then stays inside of one item, and items are
 * doubled, moved and left out as a whole. Used by fuzz_ring.c. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { ITEM_HEAD = 3, ITEM_MOST = 255 };

struct item {
	uint8_t what, where, size;
	const uint8_t *bytes;
};

/* The next item; 0: there is no whole one. */
static inline int item_next(const uint8_t **at, const uint8_t *end, struct item *ret)
{
	const uint8_t *p = *at;

	if (end - p < ITEM_HEAD || end - p - ITEM_HEAD < p[2])
		return 0;
	*ret = (struct item){p[0], p[1], p[2], p + ITEM_HEAD};
	*at = p + ITEM_HEAD + p[2];
	return 1;
}

/* Copies what there is, and leaves the rest of `to` as it is. */
static inline void item_copy(const struct item *i, void *to, size_t room)
{
	memcpy(to, i->bytes, i->size < room ? i->size : room);
}

#ifdef PP_FUZZ_MUTATES
size_t LLVMFuzzerMutate(uint8_t *bytes, size_t size, size_t room);

static inline uint32_t items_dice(unsigned *seed, size_t below)
{
	*seed = *seed * 1664525 + 1013904223;
	return below ? (uint32_t)((*seed >> 8) % below) : 0;
}

/* Replaces `old` bytes at `at` by others; the new size, or the old one where they have no room. */
static inline size_t items_put(uint8_t *all, size_t size, size_t room, size_t at, size_t old, const uint8_t *bytes, size_t n)
{
	if (size - old + n > room)
		return size;
	memmove(all + at + n, all + at + old, size - at - old);
	memcpy(all + at, bytes, n);
	return size - old + n;
}

/* One item is changed, left out, doubled, or moved to another place. */
static inline size_t items_mutate(uint8_t *all, size_t size, size_t room, unsigned seed)
{
	uint8_t copy[ITEM_HEAD + ITEM_MOST];
	const uint8_t *at = all, *end = all + size;
	struct item i;
	size_t items = 0, wanted, from = 0, to = 0, n;

	while (item_next(&at, end, &i))
		items++;
	if (!items || items_dice(&seed, 16) == 0)
		return LLVMFuzzerMutate(all, size, room);
	wanted = items_dice(&seed, items);
	at = all;
	for (size_t k = 0; k <= wanted && item_next(&at, end, &i); k++)
		from = (size_t)(i.bytes - ITEM_HEAD - all);
	n = ITEM_HEAD + (size_t)i.size;
	memcpy(copy, all + from, n);
	wanted = items_dice(&seed, items);
	at = all;
	for (size_t k = 0; k <= wanted && item_next(&at, end, &i); k++)
		to = (size_t)(i.bytes - ITEM_HEAD - all);
	switch (items_dice(&seed, 8)) {
	case 0:
		return items_put(all, size, room, from, n, copy, 0);
	case 1:
		return items_put(all, size, room, to, 0, copy, n);
	case 2:
		copy[items_dice(&seed, 2)] = (uint8_t)items_dice(&seed, 64);
		return items_put(all, size, room, from, n, copy, n);
	default:
		copy[2] = (uint8_t)LLVMFuzzerMutate(copy + ITEM_HEAD, copy[2], ITEM_MOST);
		return items_put(all, size, room, from, n, copy, ITEM_HEAD + (size_t)copy[2]);
	}
}
#endif
