/* Makes the table of steps from all ranks' marks: numbers and ranks. Called by step_mark.c. */
#include "core/step/step_table.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/compare.h"
#include "core/base/partition.h"
#include "core/step/mark_list.h"
#include "core/step/step_name.h"
#include "core/step/steps.h"

/* All numbers of all ranks, ascending, each once. */
static int64_t *list_numbers(const struct pp_marks *list, size_t ranks, size_t *ret_count)
{
	size_t room = 1, n = 0, unique = 0;
	int64_t *number;

	for (size_t r = 0; r < ranks; r++)
		room += list[r].marks;
	number = calloc(room, sizeof(*number));
	if (!number)
		return NULL;
	for (size_t r = 0; r < ranks; r++)
		for (size_t i = 0; i < list[r].marks; i++)
			number[n++] = list[r].mark[i].number;
	qsort(number, n, sizeof(*number), pp_compare_int64);
	for (size_t i = 0; i < n; i++)
		if (!unique || number[i] != number[unique - 1])
			number[unique++] = number[i];
	*ret_count = unique;
	return number;
}

static struct pp_mark *find_mark(const struct pp_marks *list, int64_t number)
{
	size_t low = PP_PARTITION(list->marks, at, list->mark[at].number < number);

	return low < list->marks && list->mark[low].number == number ? &list->mark[low] : NULL;
}

/* Requested: complete on one rank at least. Otherwise: complete on every rank that has steps. */
static int is_step(const struct pp_marks *list, size_t ranks, int64_t number, int64_t first, int64_t last)
{
	size_t complete = 0, marking = 0;

	if (last > first && (number < first || number >= last))
		return 0;
	for (size_t r = 0; r < ranks; r++) {
		const struct pp_mark *mark = find_mark(&list[r], number);

		marking += list[r].marks > 0;
		if (mark && mark->complete && !(last > first && mark->fresh))
			complete++;
	}
	return last > first ? complete > 0 : complete > 0 && complete == marking;
}

/* Of all ranks that have the step. */
static uint8_t kind_of(const struct pp_marks *list, size_t ranks, int64_t number)
{
	uint8_t kind = PP_STEP_NONE;

	for (size_t r = 0; r < ranks; r++) {
		const struct pp_mark *mark = find_mark(&list[r], number);

		if (mark)
			kind = kind == PP_STEP_NONE || kind == mark->kind ? mark->kind : PP_STEP_OTHER;
	}
	return kind;
}

/* A step may begin and end in one tick of the clock; a part of one that has no length is none. */
static void fill_cell(const struct pp_marks *list, int64_t number, int edge, struct pp_step_cell *cell)
{
	const struct pp_mark *mark = find_mark(list, number);

	if (!mark || mark->end < mark->begin || !(mark->complete || (edge && mark->end > mark->begin)))
		return;
	*cell = (struct pp_step_cell){
	        .begin = mark->begin, .end = mark->end, .thread = list->thread, .present = 1, .level = mark->level};
}

int pp_step_table_fill(const struct pp_marks *list, size_t ranks, int64_t first, int64_t last, struct pp_steps *s)
{
	size_t all, remaining = 0, at_first = 0, at_last = 0;
	int64_t *number = list_numbers(list, ranks, &all), before = 0, after = 0;
	int has_before, has_after;

	if (!number)
		return -ENOMEM;
	s->number = number;
	s->before = calloc(ranks + 1, sizeof(*s->before));
	s->after = calloc(ranks + 1, sizeof(*s->after));
	if (!s->before || !s->after)
		return -ENOMEM;
	for (size_t i = 0; i < all; i++) {
		if (!is_step(list, ranks, number[i], first, last))
			continue;
		if (!remaining)
			at_first = i;
		at_last = i;
		if (remaining == 0 && i > 0)
			before = number[i - 1];
		if (i + 1 < all)
			after = number[i + 1];
		number[remaining++] = number[i];
	}
	has_before = remaining && at_first > 0;
	has_after = remaining && at_last + 1 < all;
	s->steps = remaining;
	s->cell = calloc(remaining * ranks + 1, sizeof(*s->cell));
	s->kind = calloc(remaining + 1, 1);
	if (!s->cell || !s->kind)
		return -ENOMEM;
	for (size_t i = 0; i < remaining; i++)
		s->kind[i] = kind_of(list, ranks, number[i]);
	s->before_number = before;
	s->after_number = has_after ? after : 0;
	for (size_t r = 0; r < ranks; r++) {
		for (size_t i = 0; i < remaining; i++)
			fill_cell(&list[r], number[i], 0, &s->cell[i * ranks + r]);
		if (has_before)
			fill_cell(&list[r], before, 1, &s->before[r]);
		if (has_after)
			fill_cell(&list[r], after, 1, &s->after[r]);
	}
	return 0;
}
