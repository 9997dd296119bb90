/* Threads of a ring and their open spans: begin, move, close. Called by pair.c, and by store.c when it evicts. */
#include <stdlib.h>
#include <string.h>

#include "aggregate/read/ring/pair.h"

int pp_lane_over(const struct pp_lane *lane)
{
	return lane->over;
}

struct pp_blocks *pp_lane_blocks(struct pp_lane *lane)
{
	return &lane->blocks;
}

void pp_lane_evicted(struct pp_lane *lane, uint64_t records, int64_t end)
{
	if (end > lane->pair->horizon)
		lane->pair->horizon = end;
	lane->pair->lost[PP_LOSS_EVICTED] += records;
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

void pp_lane_moved(struct pp_lane *lane, const struct pp_span *old, struct pp_span *moved)
{
	if (!moved)
		pp_lane_evicted(lane, pp_store_records(old), old->begin);
	if (old->kind == PP_SPAN_RANGE)
		stack_moved(&lane->stack[old->domain], old, moved);
	else if (old->kind == PP_SPAN_ASYNC)
		table_moved(&lane->pair->ranges, old->comm, moved);
	else if (old->kind == PP_SPAN_REQUEST)
		table_moved(&lane->pair->requests, old->request, moved);
	else if (lane->step == old)
		lane->step = moved;
}

struct pp_lane *pp_lane_new(struct pp_pair *p, uint32_t slot)
{
	const struct pp_thread_slot *s = &p->header->thread[slot];
	struct pp_lane *lane = calloc(1, sizeof(*lane));

	if (!lane)
		return NULL;
	lane->pair = p;
	lane->slot = slot;
	lane->tid = s->tid;
	lane->is_main = s->is_main != 0;
	memcpy(lane->name, s->name, sizeof(lane->name));
	lane->name[sizeof(lane->name) - 1] = '\0';
	lane->first = INT64_MAX;
	lane->last = INT64_MIN;
	for (int i = 0; i < PP_RING_LOSSES; i++)
		lane->lost_seen += atomic_load_explicit(&s->lost[i], memory_order_relaxed);
	p->shared->store.bytes += sizeof(*lane);
	lane->next = p->lanes;
	p->lanes = p->lane[slot] = lane;
	return lane;
}

static void free_lane(struct pp_lane *lane)
{
	lane->pair->shared->store.bytes -= sizeof(*lane);
	for (int i = 0; i < PP_RING_DOMAINS; i++)
		free(lane->stack[i].entry);
	free(lane);
}

void pp_lane_emptied(struct pp_lane *lane)
{
	lane->pair->emptied++;
}

static void see_last(struct pp_pair *p, const struct pp_lane *lane)
{
	if (lane->last > p->last)
		p->last = lane->last;
}

void pp_pair_forget(struct pp_pair *p)
{
	struct pp_lane **at = &p->lanes, *lane;

	p->emptied = 0;
	while ((lane = *at)) {
		if (lane->over && !lane->blocks.first) {
			see_last(p, lane);
			*at = lane->next;
			free_lane(lane);
		} else {
			at = &lane->next;
		}
	}
}

void pp_pair_release(struct pp_pair *p)
{
	while (p->lanes) {
		struct pp_lane *next = p->lanes->next;

		free_lane(p->lanes);
		p->lanes = next;
	}
	for (size_t i = 0; i < p->comms.comms; i++)
		free(p->comms.comm[i].member);
	free(p->comms.comm);
	free(p->comms.place);
	free(p->usage);
	free(p->told);
	pp_open_release(&p->ranges);
	pp_open_release(&p->requests);
}

static void refresh_name(struct pp_lane *lane)
{
	const struct pp_thread_slot *s = &lane->pair->header->thread[lane->slot];

	/* Threads are often named after they began to record. The slot may be another thread's by now. */
	if (s->tid == lane->tid)
		memcpy(lane->name, s->name, sizeof(lane->name) - 1);
}

static void finish_lane(struct pp_pair *p, uint32_t slot)
{
	pp_lane_close(p->lane[slot], 1);
	p->lane[slot]->over = 1;
	p->lane[slot] = NULL;
}

void pp_pair_ended(void *context, uint32_t slot)
{
	struct pp_pair *p = context;

	if (!p->lane[slot])
		return;
	refresh_name(p->lane[slot]);
	finish_lane(p, slot);
}

void pp_pair_succeeded(struct pp_pair *p, uint32_t slot, const struct pp_record_thread *was)
{
	struct pp_lane *lane = p->lane[slot];

	if (!lane)
		return;
	lane->tid = was->tid;
	lane->is_main = was->is_main != 0;
	memcpy(lane->name, was->name, sizeof(lane->name) - 1);
	finish_lane(p, slot);
}

struct pp_span *pp_lane_add(struct pp_lane *lane, enum pp_span_kind kind, int64_t begin, uint32_t name)
{
	struct pp_span *s = pp_store_add(&lane->pair->shared->store, &lane->blocks, lane);

	if (!s) {
		lane->pair->lost[PP_LOSS_EVICTED]++;
		return NULL;
	}
	s->kind = (uint8_t)kind;
	lane->kinds |= PP_SPAN_BIT(kind);
	s->begin = s->end = begin;
	s->name = name;
	s->peer = -1;
	return s;
}

void pp_lane_end_span(struct pp_span *s, int64_t end, uint8_t flags)
{
	s->end = end > s->begin ? end : s->begin;
	s->flags = (uint8_t)((s->flags & ~PP_SPAN_OPEN) | flags);
	if (s->kind == PP_SPAN_ASYNC)
		s->comm = 0;
	else if (s->kind == PP_SPAN_REQUEST)
		s->wait_end = s->end;
}

static int records_in_windows(const struct pp_ring_header *h)
{
	int rows = 0;

	for (int i = 0; i < PP_WINDOW_ROWS; i++)
		rows |= atomic_load_explicit(&h->window[i].number, memory_order_relaxed) != 0;
	return rows || h->window_last > h->window_first || h->request_row.begin || pp_ring_api_windows(h);
}

int pp_lane_is_unbalanced(const struct pp_lane *lane)
{
	return !lane->torn && !records_in_windows(lane->pair->header);
}

/* The thread, or the rank, has ended as programs do: what is open now never ends. */
static int never_ends(const struct pp_lane *lane, int thread_ended)
{
	return (thread_ended || pp_ring_state(lane->pair->header) == PP_RANK_ENDING) && pp_lane_is_unbalanced(lane);
}

void pp_stack_close(struct pp_stack *s, int64_t end)
{
	for (uint32_t i = 0; i < s->depth; i++)
		if (s->entry[i])
			pp_lane_end_span(s->entry[i], end, PP_SPAN_CUT_END);
	s->depth = s->skipped = 0;
}

static void close_table(struct pp_lane *lane, struct pp_open_table *t)
{
	int never = t == &lane->pair->ranges && never_ends(lane, 0);

	for (size_t i = 0; i < t->places; i++)
		while (t->place[i].span && t->place[i].lane == lane) {
			lane->pair->lost[PP_LOSS_UNBALANCED] += (unsigned)never;
			pp_lane_end_span(t->place[i].span, lane->last, PP_SPAN_CUT_END);
			pp_open_remove(t, &t->place[i]);
		}
}

void pp_lane_close(struct pp_lane *lane, int thread_ended)
{
	int never = never_ends(lane, thread_ended);

	for (int i = 0; i < PP_RING_DOMAINS; i++) {
		if (never)
			lane->pair->lost[PP_LOSS_UNBALANCED] += lane->stack[i].depth;
		pp_stack_close(&lane->stack[i], lane->last);
		free(lane->stack[i].entry);
		lane->stack[i] = (struct pp_stack){0};
	}
	if (lane->step)
		pp_lane_end_span(lane->step, lane->last, PP_SPAN_CUT_END);
	lane->step = NULL;
}

/* At the very end: a range or request may end on another thread than the one it began on. */
void pp_pair_close(struct pp_pair *p)
{
	for (struct pp_lane *lane = p->lanes; lane; lane = lane->next) {
		see_last(p, lane);
		if (p->lane[lane->slot] == lane)
			refresh_name(lane);
		pp_lane_close(lane, 0);
		close_table(lane, &p->ranges);
		close_table(lane, &p->requests);
	}
}
