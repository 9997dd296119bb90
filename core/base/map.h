/* Hash index over a list of rows that its user keeps: finds the row that is equal to a key, or the place for a new one. In: the
 * list, and a key, which is a row with the members that count. Out: index + 1 of the row. Rows are only appended; removed are all
 * at once (pp_map_clear()). For the keeper and the CLI: it allocates. One thread at a time. Half of the places stay free.
 *
 *     static uint64_t hash(const void *row)
 *     {
 *             const struct pair *p = row;
 *
 *             return ((uint64_t)p->from << 32 | p->to) * PP_MAP_MIX;
 *     }
 *
 *     uint32_t *place = pp_map_place(&map, list, rows, sizeof(*list), &key, hash, is_same);
 *
 *     if (!place || (!*place && PP_GROW(list, rows, room)))
 *             return -ENOMEM;
 *     if (!*place) {
 *             list[rows] = key;
 *             *place = (uint32_t)++rows;
 *     }
 *     list[*place - 1].bytes += bytes;
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define PP_MAP_MIX 0x9e3779b97f4a7c15u /* spreads a number over 64 bits */

struct pp_map {          /* zero: empty; free(place) releases it */
	uint32_t *place; /* [places] index + 1 of a row; 0: free */
	size_t places;   /* a power of two */
};

typedef uint64_t pp_map_hash(const void *row);
typedef int pp_map_is_same(const void *row, const void *key);

/* Where the search for a row, or for a key, begins. */
static inline size_t pp_map_home(const void *row, pp_map_hash *hash, size_t places)
{
	const uint64_t h = hash(row);

	return (size_t)(h ^ h >> 32) & (places - 1);
}

static inline uint32_t *pp_map_probe(const struct pp_map *m, const void *list, size_t size, const void *key, pp_map_hash *hash,
                                     pp_map_is_same *is_same)
{
	size_t at = pp_map_home(key, hash, m->places);

	while (m->place[at] && !is_same((const char *)list + (m->place[at] - 1) * size, key))
		at = (at + 1) & (m->places - 1);
	return &m->place[at];
}

static inline __attribute__((cold)) int pp_map_grow(struct pp_map *m, const void *list, size_t rows, size_t size, pp_map_hash *hash)
{
	size_t places = m->places ? m->places : 256;
	uint32_t *place;

	while (2 * (rows + 1) > places)
		places *= 2;
	place = rows < UINT32_MAX / 2 ? calloc(places, sizeof(*place)) : NULL;
	if (!place)
		return -1;
	for (size_t i = 0; i < rows; i++) {
		size_t at = pp_map_home((const char *)list + i * size, hash, places);

		while (place[at])
			at = (at + 1) & (places - 1);
		place[at] = (uint32_t)i + 1;
	}
	free(m->place);
	*m = (struct pp_map){place, places};
	return 0;
}

/* Where the row of `key` stands, of a list of `rows` rows of `size` bytes. 0 there: it is new, and the caller appends it and writes
 * its index + 1. NULL: no memory. Valid until the next call. */
static inline uint32_t *pp_map_place(struct pp_map *m, const void *list, size_t rows, size_t size, const void *key,
                                     pp_map_hash *hash, pp_map_is_same *is_same)
{
	if (2 * (rows + 1) > m->places && pp_map_grow(m, list, rows, size, hash))
		return NULL;
	return pp_map_probe(m, list, size, key, hash, is_same);
}

/* For a list that is empty again. */
static inline void pp_map_clear(struct pp_map *m)
{
	if (m->place)
		memset(m->place, 0, m->places * sizeof(*m->place));
}
