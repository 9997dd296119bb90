/* Lists of ranks: parsing, asking, telling; see rank_list.h. Used by opt.c, the keeper, the XSpace writer and sentences. */
#include "core/base/rank_list.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/base/parse.h"

enum { NUMBER_ROOM = 16 };

static int number(const char **at, int32_t *ret)
{
	size_t n = strspn(*at, "0123456789");
	char text[NUMBER_ROOM];
	int64_t value;

	if (!n || n >= sizeof(text))
		return -1;
	memcpy(text, *at, n);
	text[n] = '\0';
	if (pp_parse_int(text, &value, NULL) || value > INT32_MAX)
		return -1;
	*ret = (int32_t)value;
	*at += n;
	return 0;
}

int pp_rank_list_parse(const char *text, struct pp_rank_list *ret, struct pp_err *err)
{
	struct pp_rank_list list = {0};
	const char *at = text;

	while (*at) {
		int32_t first, last;

		if (list.count == PP_RANK_RANGES)
			return pp_err_set(err, -EINVAL, "'%s' has more than %d parts. Join consecutive ranks, for example 0-7",
			                  text, PP_RANK_RANGES);
		if (number(&at, &first))
			goto bad;
		last = first;
		if (*at == '-' && (at++, number(&at, &last)))
			goto bad;
		if (last < first || (*at && *at != ',') || (*at == ',' && !at[1]))
			goto bad;
		list.first[list.count] = first;
		list.last[list.count++] = last;
		at += *at == ',';
	}
	*ret = list;
	return 0;
bad:
	return pp_err_set(err, -EINVAL,
	                  "'%s' is not a list of ranks. Give numbers and ranges, separated by commas, for example 0,3-5", text);
}

int pp_rank_list_has(const struct pp_rank_list *list, int32_t rank)
{
	for (int i = 0; i < list->count; i++)
		if (rank >= list->first[i] && rank <= list->last[i])
			return 1;
	return !list->count;
}

int pp_rank_list_misses(const struct pp_rank_list *list, int32_t size)
{
	for (int i = 0; i < list->count; i++)
		if (list->first[i] < size)
			return 0;
	return list->count > 0;
}

enum { TAIL = sizeof(" and 4294967295 more") };

static void put_run(struct pp_rank_text *t)
{
	char text[2 * NUMBER_ROOM];
	const int n = snprintf(text, sizeof(text), t->last > t->first ? "%s%d-%d" : "%s%d",
	                       !t->used     ? ""
	                       : t->between ? t->between
	                                    : ", ",
	                       (int)t->first, (int)t->last);

	if (t->left || t->used + (size_t)n + TAIL > t->size) {
		t->left += (size_t)(t->last - t->first) + 1;
		return;
	}
	memcpy(t->to + t->used, text, (size_t)n + 1);
	t->used += (size_t)n;
}

void pp_rank_text_add(struct pp_rank_text *t, int32_t rank)
{
	if (t->ranks && (int64_t)rank == (int64_t)t->last + 1) {
		t->last = rank;
	} else {
		if (t->ranks)
			put_run(t);
		t->first = t->last = rank;
	}
	t->ranks++;
}

size_t pp_rank_text_end(struct pp_rank_text *t)
{
	t->to[t->used] = '\0';
	if (t->ranks)
		put_run(t);
	if (t->left)
		snprintf(t->to + t->used, t->size - t->used, " and %zu more", t->left);
	return t->ranks;
}
