/* Threads of a ring and their open spans: begin, move, close. Called by pair.c, and by store.c when it evicts. */
#include <stdlib.h>
#include <string.h>

#include "aggregate/read/ring/pair.h"
#include "core/capture/thread.h"

int pp_track_over(const struct pp_track *track)
{
	return track->over;
}

struct pp_blocks *pp_track_blocks(struct pp_track *track)
{
	return &track->blocks;
}

void pp_track_evicted(struct pp_track *track, uint64_t records, int64_t end)
{
	if (end > track->pair->horizon)
		track->pair->horizon = end;
	track->pair->lost[PP_LOSS_EVICTED] += records;
}

static void stack_moved(struct pp_stack *s, const struct pp_span *old, struct pp_span *moved)
{
	for (uint32_t i = 0; i < s->depth; i++)
		if (s->entry[i] == old) {
			s->entry[i] = moved;
			return;
		}
}

static void table_moved(struct pp_open_table *t, uint64_t id, struct pp_span *moved)
{
	struct pp_open *open = pp_open_find(t, id);

	if (open && moved)
		open->span = moved;
	else if (open)
		pp_open_remove(t, open);
}

void pp_track_moved(struct pp_track *track, const struct pp_span *old, struct pp_span *moved)
{
	if (!moved)
		pp_track_evicted(track, pp_store_records(old), old->begin);
	if (old->kind == PP_SPAN_RANGE)
		stack_moved(&track->stack[old->range.domain], old, moved);
	else if (old->kind == PP_SPAN_ASYNC)
		table_moved(&track->pair->ranges, old->range.id, moved);
	else if (old->kind == PP_SPAN_REQUEST)
		table_moved(&track->pair->requests, old->mpi.request, moved);
	else if (track->step == old)
		track->step = moved;
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
	p->shared->store.bytes += sizeof(*track);
	track->next = p->tracks;
	p->tracks = track;
	return track;
}

struct pp_track *pp_track_new(struct pp_pair *p, uint32_t slot)
{
	const struct pp_thread_slot *s = &p->header->thread[slot];
	struct pp_track *track = p->devices ? pp_device_adopt(p, s->tid) : NULL;

	if (!track)
		track = pp_track_make(p, s->tid);
	if (!track)
		return NULL;
	track->slot = slot;
	track->is_main = s->is_main != 0;
	memcpy(track->name, s->name, sizeof(track->name));
	track->name[sizeof(track->name) - 1] = '\0';
	for (int i = 0; i < PP_RING_LOSSES; i++)
		track->lost_seen += pp_slot_lost(s, i);
	p->track[slot] = track;
	return track;
}

static void free_track(struct pp_track *track)
{
	track->pair->shared->store.bytes -= sizeof(*track);
	for (int i = 0; i < PP_RING_DOMAINS; i++)
		free(track->stack[i].entry);
	free(track);
}

void pp_track_emptied(struct pp_track *track)
{
	track->pair->emptied++;
}

static void see_last(struct pp_pair *p, const struct pp_track *track)
{
	if (track->last > p->last)
		p->last = track->last;
}

void pp_pair_forget(struct pp_pair *p)
{
	struct pp_track **at = &p->tracks, *track;

	p->emptied = 0;
	while ((track = *at)) {
		if (track->over && !track->blocks.first) {
			see_last(p, track);
			*at = track->next;
			free_track(track);
		} else {
			at = &track->next;
		}
	}
	pp_device_forget(p);
}

void pp_pair_release(struct pp_pair *p)
{
	while (p->tracks) {
		struct pp_track *next = p->tracks->next;

		free_track(p->tracks);
		p->tracks = next;
	}
	for (size_t i = 0; i < p->comms.comms; i++) {
		free(p->comms.comm[i].member);
		free(p->comms.comm[i].near);
	}
	free(p->comms.comm);
	free(p->comms.place);
	free(p->usage);
	free(p->annotation);
	free(p->message);
	pp_device_release(p);
	pp_nccl_release(&p->nccl);
	pp_open_release(&p->ranges);
	pp_open_release(&p->requests);
}

static void refresh_name(struct pp_track *track)
{
	const struct pp_thread_slot *s = &track->pair->header->thread[track->slot];

	/* Threads are often named after they began to record. The slot may be another thread's by now. */
	if (s->tid == track->tid)
		memcpy(track->name, s->name, sizeof(track->name) - 1);
}

static void finish_track(struct pp_pair *p, uint32_t slot)
{
	pp_track_close(p->track[slot], 1);
	p->track[slot]->over = 1;
	p->track[slot] = NULL;
}

void pp_pair_ended(void *context, uint32_t slot)
{
	struct pp_pair *p = context;

	if (!p->track[slot])
		return;
	refresh_name(p->track[slot]);
	finish_track(p, slot);
}

void pp_pair_succeeded(struct pp_pair *p, uint32_t slot, const struct pp_record_thread *was)
{
	struct pp_track *track = p->track[slot];

	if (!track)
		return;
	track->tid = was->tid;
	track->is_main = was->is_main != 0;
	memcpy(track->name, was->name, sizeof(track->name) - 1);
	finish_track(p, slot);
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

/* The thread, or the rank, ended normally: what is open now never ends. */
static int never_ends(const struct pp_track *track, int thread_ended)
{
	return (thread_ended || pp_ring_state(track->pair->header) == PP_RANK_ENDING) && pp_track_is_unbalanced(track);
}

void pp_stack_close(struct pp_stack *s, int64_t end)
{
	for (uint32_t i = 0; i < s->depth; i++)
		if (s->entry[i])
			pp_track_end_span(s->entry[i], end, PP_SPAN_CUT_END);
	s->depth = s->skipped = 0;
}

static void close_table(struct pp_track *track, struct pp_open_table *t)
{
	int never = t == &track->pair->ranges && never_ends(track, 0);

	for (size_t i = 0; i < t->places; i++)
		while (t->place[i].span && t->place[i].track == track) {
			track->pair->lost[PP_LOSS_UNBALANCED] += (unsigned)never;
			pp_track_end_span(t->place[i].span, track->last, PP_SPAN_CUT_END);
			pp_open_remove(t, &t->place[i]);
		}
}

void pp_track_close(struct pp_track *track, int thread_ended)
{
	int never = never_ends(track, thread_ended);

	for (int i = 0; i < PP_RING_DOMAINS; i++) {
		if (never)
			track->pair->lost[PP_LOSS_UNBALANCED] += track->stack[i].depth;
		pp_stack_close(&track->stack[i], track->last);
		free(track->stack[i].entry);
		track->stack[i] = (struct pp_stack){0};
	}
	if (track->step)
		pp_track_end_span(track->step, track->last, PP_SPAN_CUT_END);
	track->step = NULL;
}

/* At the very end: a range or request may end on another thread than the one it began on. */
void pp_pair_close(struct pp_pair *p)
{
	for (struct pp_track *track = p->tracks; track; track = track->next) {
		see_last(p, track);
		if (track->slot != PP_NO_SLOT && p->track[track->slot] == track)
			refresh_name(track);
		pp_track_close(track, 0);
		close_table(track, &p->ranges);
		close_table(track, &p->requests);
	}
}
