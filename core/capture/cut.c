/* Cuts a rank to a window; see cut.h. Called by aggregate/session. */
#include "core/capture/cut.h"

#include <errno.h>
#include <string.h>

#include "core/capture/capture.h"
#include "core/capture/order.h"
#include "core/capture/side.h"
#include "core/capture/thread.h"

/* Kept whole or not at all: half a call has no arrival, half a step no length. */
static int is_whole(const struct pp_span *s)
{
	return s->kind == PP_SPAN_MPI || s->kind == PP_SPAN_STEP || s->kind == PP_SPAN_REQUEST;
}

/* 1: it overlaps the window; clips it to that. The step that the window ends in is the edge and is clipped too. */
static int clip(struct pp_span *s, int64_t from, int64_t to)
{
	if (s->begin > to || s->end < from || (is_whole(s) && s->begin < from) || (s->kind == PP_SPAN_MPI && s->end > to))
		return 0;
	if (s->begin < from) {
		s->begin = from;
		s->flags |= PP_SPAN_CUT_BEGIN;
	}
	if (s->end > to) {
		s->end = to;
		s->flags |= PP_SPAN_CUT_END;
	}
	return 1;
}

static int cut_thread(struct pp_thread *t, int64_t from, int64_t to)
{
	size_t remaining = 0;

	for (size_t i = 0; i < t->spans; i++)
		if (clip(&t->span[i], from, to))
			t->span[remaining++] = t->span[i];
	t->spans = remaining;
	if (t->first < from)
		t->first = from;
	if (t->last > to)
		t->last = to;
	if (t->first > t->last)
		t->first = t->last = 0;
	if (pp_order_spans(t->span, remaining))
		return -ENOMEM;
	pp_thread_list_others(t);
	return 0;
}

static void cut_side(const struct pp_side_array *side, struct pp_rank *rank, int64_t from, int64_t to)
{
	const struct pp_side_field *time = pp_side_time(side), *before = NULL;
	char *rows = pp_side_rows(side, rank);
	size_t count = pp_side_count(side, rank), remaining = 0;

	for (size_t f = 0; f < side->fields; f++)
		if (side->field[f].type == PP_SIDE_TYPE_BEFORE)
			before = &side->field[f];
	for (size_t i = 0; i < count; i++) {
		char *row = rows + i * side->size;
		int64_t at;

		memcpy(&at, row + time->offset, sizeof(at));
		if (before && at < from)
			row[before->offset] = 1;
		if (at <= to && (at >= from || side->keep == PP_SIDE_UNTIL))
			memmove(rows + remaining++ * side->size, row, side->size);
	}
	pp_side_set(side, rank, rows, remaining);
}

int pp_rank_cut(struct pp_rank *rank, int64_t from, int64_t to)
{
	for (size_t t = 0; t < rank->threads; t++) {
		int rc = cut_thread(&rank->thread[t], from, to);

		if (rc)
			return rc;
	}
	for (const struct pp_side_array *side = pp_side_arrays; side < pp_side_arrays + PP_SIDE_IDS; side++)
		if (side->keep != PP_SIDE_ALL)
			cut_side(side, rank, from, to);
	if (rank->recorded_from < from)
		rank->recorded_from = from;
	if (rank->recorded_to > to)
		rank->recorded_to = to;
	return 0;
}

int pp_rank_keep(struct pp_rank *rank, int64_t from)
{
	int64_t begin = rank->recorded_from;
	int rc = pp_rank_cut(rank, from, INT64_MAX);

	rank->recorded_from = begin;
	if (begin < from && rank->horizon < from)
		rank->horizon = from;
	return rc;
}
