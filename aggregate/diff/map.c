/* Ranks and names that are the same in two sessions; see map.h. */
#include "aggregate/diff/map.h"

#include <errno.h>
#include <string.h>

#include "core/base/rank_list.h"

/* "0-3" or "4"; 0: it is no range. */
static int is_range(const char *text, struct pp_rank_list *ret_range)
{
	return *text && !pp_rank_list_parse(text, ret_range, NULL) && ret_range->count == 1;
}

static int is_in(int32_t first, int32_t ranks, int32_t other_first, int32_t other_ranks)
{
	return first < other_first + (int64_t)other_ranks && other_first < first + (int64_t)ranks;
}

static int add_range(struct pp_diff_map *map, const struct pp_rank_list *a, const struct pp_rank_list *b, struct pp_err *err)
{
	const int32_t first = a->first[0], other = b->first[0], more = a->last[0] - first;

	if (more != b->last[0] - other || more == INT32_MAX)
		return pp_err_set(err, -EINVAL, "%d-%d and %d-%d are not equally many ranks", first, a->last[0], other, b->last[0]);
	for (size_t i = 0; i < map->ranges; i++)
		if (is_in(first, more + 1, map->range[i].first, map->range[i].ranks) ||
		    is_in(other, more + 1, map->range[i].other, map->range[i].ranks))
			return pp_err_set(err, -EINVAL, "%d-%d=%d-%d has a rank that stands before", first, a->last[0], other,
			                  b->last[0]);
	map->range[map->ranges].first = first;
	map->range[map->ranges].other = other;
	map->range[map->ranges++].ranks = more + 1;
	return 0;
}

/* A part of map->text, without its comma. */
static int add(struct pp_diff_map *map, char *part, struct pp_err *err)
{
	char *other = strchr(part, '=');
	struct pp_rank_list a, b;

	if (!other || other == part || !other[1])
		return pp_err_set(err, -EINVAL,
		                  "'%s' does not say what is the same. Give ranks or names of A and of B, for example 0-3=4-7",
		                  part);
	*other++ = '\0';
	if (map->ranges == PP_DIFF_MAP_MOST || map->names == PP_DIFF_MAP_MOST)
		return pp_err_set(err, -EINVAL, "more than %d parts. Join consecutive ranks, for example 0-3=4-7",
		                  PP_DIFF_MAP_MOST);
	if (is_range(part, &a) && is_range(other, &b))
		return add_range(map, &a, &b, err);
	map->name[map->names].first = (size_t)(part - map->text);
	map->name[map->names++].other = (size_t)(other - map->text);
	return 0;
}

int pp_diff_map_parse(const char *text, struct pp_diff_map *ret_map, struct pp_err *err)
{
	struct pp_diff_map map = {.ranges = 0};
	int rc = 0;

	if (strlen(text) >= sizeof(map.text))
		return pp_err_set(err, -EINVAL, "it is longer than %d bytes", PP_DIFF_MAP_TEXT - 1);
	memcpy(map.text, text, strlen(text) + 1);
	for (char *part = map.text, *next; *text && part && !rc; part = next) {
		next = strchr(part, ',');
		if (next)
			*next++ = '\0';
		rc = add(&map, part, err);
	}
	if (!rc)
		*ret_map = map;
	return rc;
}

int64_t pp_diff_map_rank(const struct pp_diff_map *map, int32_t rank)
{
	for (size_t i = 0; i < map->ranges; i++)
		if (rank >= map->range[i].first && rank - map->range[i].first < map->range[i].ranks)
			return (int64_t)map->range[i].other + (rank - map->range[i].first);
	return map->ranges ? -1 : rank;
}

const char *pp_diff_map_name(const struct pp_diff_map *map, int is_first, const char *name)
{
	for (size_t i = 0; i < map->names && !is_first; i++)
		if (!strcmp(map->text + map->name[i].other, name))
			return map->text + map->name[i].first;
	return name;
}
