/* Threads of a ring, and what readers know of them; see track.h. Called by the readers and pair.c. */
#include "aggregate/read/ring/track.h"

#include <stdlib.h>

#include "core/capture/thread.h"

void *pp_pair_state(struct pp_pair *p, enum pp_reader_number reader, size_t size)
{
	if (!p->state[reader])
		p->state[reader] = calloc(1, size);
	return p->state[reader];
}

void *pp_track_state(struct pp_track *track, enum pp_reader_number reader, size_t size)
{
	if (!track->state[reader] && (track->state[reader] = calloc(1, size))) {
		track->bytes += (uint32_t)size;
		track->pair->shared->store.bytes += size;
	}
	return track->state[reader];
}

struct pp_track *pp_track_make(struct pp_pair *p, uint32_t tid)
{
	struct pp_track *track = calloc(1, sizeof(*track));

	if (!track)
		return NULL;
	track->pair = p;
	track->slot = PP_NO_SLOT;
	track->tid = tid;
	track->first = INT64_MAX;
	track->last = INT64_MIN;
	track->bytes = sizeof(*track);
	p->shared->store.bytes += sizeof(*track);
	track->next = p->tracks;
	p->tracks = track;
	return track;
}

void pp_track_free(struct pp_track *track)
{
	track->pair->shared->store.bytes -= track->bytes;
	for (int i = 0; i < PP_READERS; i++)
		free(track->state[i]);
	free(track);
}

struct pp_span *pp_track_add(struct pp_track *track, enum pp_span_kind kind, int64_t begin, uint32_t name)
{
	struct pp_span *s = pp_store_add(&track->pair->shared->store, &track->blocks, track);

	if (!s) {
		track->pair->lost[PP_LOSS_EVICTED]++;
		return NULL;
	}
	s->kind = (uint8_t)kind;
	track->kinds |= PP_SPAN_BIT(kind);
	s->begin = s->end = begin;
	s->name = name;
	return s;
}

void pp_track_end_span(struct pp_span *s, int64_t end, uint8_t flags)
{
	s->end = end > s->begin ? end : s->begin;
	s->flags = (uint8_t)((s->flags & ~PP_SPAN_OPEN) | flags);
}

static int records_in_windows(const struct pp_ring_header *h)
{
	int rows = 0;

	for (int i = 0; i < PP_WINDOW_ROWS; i++)
		rows |= atomic_load_explicit(&h->window[i].number, memory_order_relaxed) != 0;
	return rows || h->window_last > h->window_first || h->request_row.begin || pp_ring_api_windows(h);
}

int pp_track_is_unbalanced(const struct pp_track *track)
{
	return !track->torn && !records_in_windows(track->pair->header);
}
