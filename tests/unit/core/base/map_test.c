/* An index over rows: finds what was put in, in any number, and nothing else. */
#include "core/base/map.h"

#include "core/base/grow.h"
#include "tests/test.h"

struct pair {
	uint32_t from, to;
	uint64_t times;
};

static uint64_t hash(const void *row)
{
	const struct pair *p = row;

	return ((uint64_t)p->from << 32 | p->to) * PP_MAP_MIX;
}

/* All rows in one place. */
static uint64_t hash_of_none(const void *row)
{
	(void)row;
	return 7;
}

static int is_same(const void *row, const void *key)
{
	const struct pair *a = row, *b = key;

	return a->from == b->from && a->to == b->to;
}

/* Counts each pair of numbers below `n` twice; the map may hold an earlier list's places, cleared. */
static void count_pairs(struct pp_map *m, uint32_t n, pp_map_hash *by)
{
	struct pair *list = NULL;
	size_t rows = 0, room = 0;

	for (uint32_t i = 0; i < 2 * n * n; i++) {
		const struct pair key = {.from = i % n, .to = i / n % n};
		uint32_t *place = pp_map_place(m, list, rows, sizeof(key), &key, by, is_same);

		CHECK(place != NULL);
		CHECK(!*place == (i < n * n));
		if (!*place) {
			list = pp_grow(list, rows, &room, sizeof(*list));
			list[rows] = key;
			*place = (uint32_t)++rows;
		}
		CHECK(list[*place - 1].from == key.from && list[*place - 1].to == key.to);
		list[*place - 1].times++;
	}
	CHECK_INT(rows, n * n);
	for (size_t i = 0; i < rows; i++)
		CHECK_INT(list[i].times, 2);
	free(list);
}

TEST(many_rows)
{
	struct pp_map m = {0};

	count_pairs(&m, 100, hash);
	CHECK(2 * (100 * 100) <= m.places);
	pp_map_clear(&m);
	count_pairs(&m, 90, hash);
	free(m.place);
}

TEST(equal_hashes)
{
	struct pp_map m = {0};

	count_pairs(&m, 20, hash_of_none);
	free(m.place);
}

TEST(list_without_places)
{
	struct pair list[1000], key = {.from = 700};
	struct pp_map m = {0};
	uint32_t *place;

	for (uint32_t i = 0; i < 1000; i++)
		list[i] = (struct pair){.from = i};
	place = pp_map_place(&m, list, 1000, sizeof(key), &key, hash, is_same);
	CHECK(place && *place == 701);
	pp_map_clear(&m);
	free(m.place);
}

int main(void)
{
	many_rows();
	equal_hashes();
	list_without_places();
	return test_end();
}
