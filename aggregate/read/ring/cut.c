/* Windows that end while ranks go on: drops a closed window's spans, and cuts a capture to one window. Called by the keeper. */
#include "aggregate/read/ring/cut.h"

#include <errno.h>
#include <string.h>

#include "aggregate/read/ring/order.h"
#include "aggregate/read/ring/reader.h"
#include "aggregate/read/ring/ring_losses.h"
#include "aggregate/read/ring/rings_private.h"
#include "core/capture/capture.h"
#include "core/capture/side.h"
#include "core/capture/thread.h"

void pp_rings_drop_between(struct pp_rings *r, size_t index, int64_t from, int64_t to)
{
	struct pp_ring *ring = r->ring[index];
	struct pp_pair *p = &ring->pair;
	uint64_t spans = 0;

	for (struct pp_track *track = p->tracks; track; track = track->next) {
		pp_store_drop(&r->shared.store, &track->blocks, track, from, to);
		spans += track->blocks.spans;
	}
	for (int i = 0; i < PP_READERS; i++)
		if (pp_reader_list[i]->drop_between)
			pp_reader_list[i]->drop_between(p, from, to);
	pp_ring_losses(ring, ring->lost_before);
	/* The remaining spans are records of later windows. */
	ring->records_before = spans < p->records ? p->records - spans : 0;
	pp_drain_finalise(ring->drain, spans);
}

void pp_rings_drop(struct pp_rings *r, size_t index, int64_t cut)
{
	pp_rings_drop_between(r, index, INT64_MIN, cut);
}

void pp_rings_keep(struct pp_rings *r, size_t index, int64_t cut)
{
	struct pp_pair *p = &r->ring[index]->pair;

	pp_rings_drop(r, index, cut);
	if (cut > p->horizon)
		p->horizon = cut;
}

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
	size_t kept = 0;

	for (size_t i = 0; i < t->spans; i++)
		if (clip(&t->span[i], from, to))
			t->span[kept++] = t->span[i];
	t->spans = kept;
	if (t->first < from)
		t->first = from;
	if (t->last > to)
		t->last = to;
	if (t->first > t->last)
		t->first = t->last = 0;
	if (pp_order_spans(t->span, kept))
		return -ENOMEM;
	pp_thread_list_others(t);
	return 0;
}

int pp_rank_cut(struct pp_rank *rank, int64_t from, int64_t to)
{
	size_t kept = 0;

	for (size_t t = 0; t < rank->threads; t++) {
		int rc = cut_thread(&rank->thread[t], from, to);

		if (rc)
			return rc;
	}
	for (size_t i = 0; i < rank->usages; i++)
		if (rank->usage[i].time >= from && rank->usage[i].time <= to)
			rank->usage[kept++] = rank->usage[i];
	rank->usages = kept;
	kept = 0;
	for (size_t i = 0; i < rank->memories; i++)
		if (rank->memory[i].time >= from && rank->memory[i].time <= to)
			rank->memory[kept++] = rank->memory[i];
	rank->memories = kept;
	kept = 0;
	for (size_t i = 0; i < rank->allocations; i++)
		if (rank->allocation[i].time >= from && rank->allocation[i].time <= to)
			rank->allocation[kept++] = rank->allocation[i];
	rank->allocations = kept;
	kept = 0;
	for (size_t i = 0; i < rank->pool_events; i++) {
		rank->pool_event[i].is_before |= rank->pool_event[i].time < from;
		if (rank->pool_event[i].time <= to)
			rank->pool_event[kept++] = rank->pool_event[i];
	}
	rank->pool_events = kept;
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
