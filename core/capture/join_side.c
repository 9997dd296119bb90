/* Rows of two ranks in one array: one behind the other, in order, or each once; see join_side.h. Called by join.c. */
#include "core/capture/join_side.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/partition.h"
#include "core/capture/side.h"

int pp_side_join_prepare(struct pp_side_join *j, const struct pp_side_array *side, const struct pp_rank *into,
                         const struct pp_rank *from)
{
	size_t count = pp_side_count(side, into);

	j->from = pp_side_count(side, from);
	if (!j->from)
		return 0;
	j->rows = malloc((count + j->from) * side->size);
	j->place = calloc(j->from, sizeof(*j->place));
	j->sorted = calloc(count + 1, sizeof(*j->sorted));
	return j->rows && j->place && j->sorted ? 0 : -ENOMEM;
}

void pp_side_join_release(struct pp_side_join *j)
{
	free(j->rows);
	free(j->place);
	free(j->sorted);
	*j = (struct pp_side_join){0};
}

void pp_side_renumber(const struct pp_side_array *side, struct pp_rank *rank, const uint32_t *name)
{
	char *rows = pp_side_rows(side, rank);

	for (size_t f = 0; f < side->fields; f++)
		for (size_t i = 0; i < pp_side_count(side, rank) && side->field[f].type == PP_SIDE_TYPE_NAME; i++) {
			char *at = rows + i * side->size + side->field[f].offset;
			uint32_t id;

			memcpy(&id, at, sizeof(id));
			memcpy(at, &name[id], sizeof(id));
		}
}

/* What rows are sorted by: their time, or their first field. */
static int64_t rank_of(const struct pp_side_array *side, const char *row)
{
	const struct pp_side_field *field = side->order == PP_SIDE_BY_TIME ? pp_side_time(side) : &side->field[0];
	int64_t wide;
	uint32_t narrow;

	if (field->size == sizeof(wide)) {
		memcpy(&wide, row + field->offset, sizeof(wide));
		return wide;
	}
	memcpy(&narrow, row + field->offset, sizeof(narrow));
	return narrow;
}

static int compare_keys(const struct pp_side_array *side, const char *a, const char *b)
{
	int way = 0;

	for (size_t f = 0; f < side->fields && !way; f++)
		if (side->field[f].is_key)
			way = memcmp(a + side->field[f].offset, b + side->field[f].offset, side->field[f].size);
	return way;
}

struct sorting {
	const struct pp_side_array *side;
	const char *rows;
};

static int compare(const void *a, const void *b, void *context)
{
	const struct sorting *s = context;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	int way = compare_keys(s->side, s->rows + i * s->side->size, s->rows + k * s->side->size);

	return way ? way : (i > k) - (i < k);
}

static size_t find(const struct pp_side_join *j, const struct pp_side_array *side, size_t sorted, const char *row)
{
	const size_t low = PP_PARTITION(sorted, at, compare_keys(side, j->rows + j->sorted[at] * side->size, row) < 0);

	return low < sorted && !compare_keys(side, j->rows + j->sorted[low] * side->size, row) ? j->sorted[low] : SIZE_MAX;
}

static int is_zero(const char *bytes, size_t size)
{
	return !bytes[0] && !memcmp(bytes, bytes + 1, size - 1);
}

/* Fields that the row does not know are the other's; that keeps no array that it gave. */
static void complete(const struct pp_side_array *side, char *row, char *other)
{
	for (size_t f = 0; f < side->fields; f++) {
		const struct pp_side_field *field = &side->field[f];

		if (!is_zero(row + field->offset, field->size))
			continue;
		if (field->type == PP_SIDE_TYPE_RANKS && memcmp(row + field->with, other + field->with, sizeof(uint32_t)) != 0)
			continue; /* an array of another length */
		memcpy(row + field->offset, other + field->offset, field->size);
		if (field->type == PP_SIDE_TYPE_RANKS)
			memset(other + field->offset, 0, field->size);
	}
	pp_side_release_rows(side, other, 1);
}

static void append(struct pp_side_join *j, const struct pp_side_array *side, const char *row, size_t i)
{
	j->place[i] = (uint32_t)j->count;
	memcpy(j->rows + j->count++ * side->size, row, side->size);
}

static void join_once(struct pp_side_join *j, const struct pp_side_array *side, char *from)
{
	struct sorting s = {.side = side, .rows = j->rows};
	size_t sorted = j->count;

	for (size_t i = 0; i < sorted; i++)
		j->sorted[i] = (uint32_t)i;
	qsort_r(j->sorted, sorted, sizeof(*j->sorted), compare, &s);
	for (size_t i = 0; i < j->from; i++) {
		char *row = from + i * side->size;
		size_t same = find(j, side, sorted, row);

		if (same == SIZE_MAX) {
			append(j, side, row, i);
		} else {
			complete(side, j->rows + same * side->size, row);
			j->place[i] = (uint32_t)same;
		}
	}
}

/* Equal ones: those of the first rank first. Rows that are each once have no reference, or are not sorted. */
static void sort_in(struct pp_side_join *j, const struct pp_side_array *side, const char *into, size_t count, const char *from)
{
	size_t i = 0;

	j->count = 0;
	for (size_t k = 0; k < j->from; k++) {
		const char *row = from + k * side->size;

		for (; i < count && rank_of(side, into + i * side->size) <= rank_of(side, row); i++)
			memcpy(j->rows + j->count++ * side->size, into + i * side->size, side->size);
		append(j, side, row, k);
	}
	for (; i < count; i++)
		memcpy(j->rows + j->count++ * side->size, into + i * side->size, side->size);
}

static void swap(char *a, char *b, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		char byte = a[i];

		a[i] = b[i];
		b[i] = byte;
	}
}

void pp_side_join(struct pp_side_join *j, const struct pp_side_array *side, struct pp_rank *into, struct pp_rank *from)
{
	char *own = pp_side_rows(side, into), *others = pp_side_rows(side, from);
	size_t count = pp_side_count(side, into);

	if (!j->from)
		return;
	if (count)
		memcpy(j->rows, own, count * side->size);
	j->count = count;
	if (side->same == PP_SIDE_ONCE)
		join_once(j, side, others);
	else if (side->order == PP_SIDE_AS_READ)
		for (size_t i = 0; i < j->from; i++)
			append(j, side, others + i * side->size, i);
	else
		sort_in(j, side, own, count, others);
	for (size_t i = 1; side->same == PP_SIDE_ONCE && side->order == PP_SIDE_BY_KEY && i < j->count; i++)
		for (size_t k = i; k > 0 && rank_of(side, j->rows + k * side->size) < rank_of(side, j->rows + (k - 1) * side->size);
		     k--)
			swap(j->rows + k * side->size, j->rows + (k - 1) * side->size, side->size);
	free(own);
	free(others);
	pp_side_set(side, into, j->rows, j->count);
	pp_side_set(side, from, NULL, 0);
	j->rows = NULL;
}
