/* Gives the records of one ring to their readers while they are drained; see pair.h. Called by rings.c, also through the sink of
 * core/ring/drain. */
#include "aggregate/read/ring/pair.h"

#include <stdlib.h>
#include <string.h>

#include "aggregate/read/ring/reader.h"
#include "aggregate/read/ring/ring_clock.h"
#include "core/base/tick.h"

enum { FORGET_TRACKS = 256 };

/* ---- the store's spans ---- */

static int is_over(const struct pp_track *track)
{
	return track->over;
}

static struct pp_blocks *blocks_of(struct pp_track *track)
{
	return &track->blocks;
}

static void evicted(struct pp_track *track, uint64_t records, int64_t end)
{
	if (end > track->pair->horizon)
		track->pair->horizon = end;
	track->pair->lost[PP_LOSS_EVICTED] += records;
}

static void moved(struct pp_track *track, const struct pp_span *old, struct pp_span *to)
{
	if (!to)
		evicted(track, pp_store_records(old), old->begin);
	for (int i = 0; i < PP_READERS; i++)
		if (pp_reader_list[i]->moved)
			pp_reader_list[i]->moved(track, old, to);
}

static void emptied(struct pp_track *track)
{
	track->pair->emptied++;
}

static const struct pp_store_owner owner = {
        .is_over = is_over,
        .blocks = blocks_of,
        .evicted = evicted,
        .moved = moved,
        .emptied = emptied,
};

/* ---- who takes a record ---- */

/* Of a kind that several readers take. */
static void take_all(struct pp_track *track, const struct pp_record *r, const char *text, size_t length)
{
	for (int i = 0; i < PP_READERS; i++)
		for (const struct pp_reader_kind *k = pp_reader_list[i]->kinds; k->kind != PP_RECORD_NONE; k++)
			if (k->kind == r->kind && k->take)
				k->take(track, r, text, length);
}

static void take_none(struct pp_track *track, const struct pp_record *r, const char *text, size_t length)
{
	(void)track;
	(void)r;
	(void)text;
	(void)length;
}

void pp_pair_share(struct pp_read_shared *shared)
{
	shared->store.owner = &owner;
	shared->kind[PP_RECORD_GAP] = (struct pp_reader_kind){.kind = PP_RECORD_GAP, .take = take_none};
	shared->kind[PP_RECORD_THREAD_END] = (struct pp_reader_kind){.kind = PP_RECORD_THREAD_END, .take = take_none};
	for (int i = 0; i < PP_READERS; i++)
		for (const struct pp_reader_kind *k = pp_reader_list[i]->kinds; k->kind != PP_RECORD_NONE; k++)
			if (shared->kind[k->kind].kind == PP_RECORD_NONE)
				shared->kind[k->kind] = *k;
			else
				shared->kind[k->kind].take = take_all;
}

void pp_pair_init(struct pp_pair *p, struct pp_read_shared *shared, const struct pp_ring_header *header)
{
	*p = (struct pp_pair){.shared = shared,
	                      .header = header,
	                      .latest = PP_TICK_MOST,
	                      .earliest = pp_ring_earliest(header),
	                      .horizon = INT64_MIN,
	                      .last = INT64_MIN};
}

void pp_pair_know_clock(struct pp_pair *p)
{
	p->has_clock = 1;
	p->latest = 0;
}

/* Records that are missing between others: not those that were left out one by one. */
static uint64_t slot_losses(const struct pp_track *track)
{
	const struct pp_thread_slot *slot = &track->pair->header->thread[track->slot];
	uint64_t lost = 0;

	for (int i = 0; i < PP_RING_LOSSES; i++)
		if (i != PP_LOSS_NAME_CUT && i != PP_LOSS_UNBALANCED && i != PP_LOSS_CALLS)
			lost += pp_slot_lost(slot, i);
	return lost;
}

/* ---- threads ---- */

/* NULL: no memory. */
static struct pp_track *new_track(struct pp_pair *p, uint32_t slot)
{
	const struct pp_thread_slot *s = &p->header->thread[slot];
	struct pp_track *track = NULL;

	for (int i = 0; i < PP_READERS && !track; i++)
		if (pp_reader_list[i]->adopt)
			track = pp_reader_list[i]->adopt(p, s->tid);
	if (!track)
		track = pp_track_make(p, s->tid);
	if (!track)
		return NULL;
	track->slot = slot;
	track->is_main = s->is_main != 0;
	memcpy(track->name, s->name, sizeof(track->name));
	track->name[sizeof(track->name) - 1] = '\0';
	track->lost_seen = slot_losses(track);
	p->track[slot] = track;
	return track;
}

static void end_track(struct pp_track *track, enum pp_track_end why)
{
	for (int i = 0; i < PP_READERS; i++)
		if (pp_reader_list[i]->thread_end)
			pp_reader_list[i]->thread_end(track, why);
}

static void see_last(struct pp_pair *p, const struct pp_track *track)
{
	if (track->last > p->last)
		p->last = track->last;
}

/* Frees tracks of ended threads without a span. */
static void forget(struct pp_pair *p)
{
	struct pp_track **at = &p->tracks, *track;

	p->emptied = 0;
	while ((track = *at)) {
		if (track->over && !track->blocks.first) {
			see_last(p, track);
			*at = track->next;
			pp_track_free(track);
		} else {
			at = &track->next;
		}
	}
	for (int i = 0; i < PP_READERS; i++)
		if (pp_reader_list[i]->forget)
			pp_reader_list[i]->forget(p);
}

void pp_pair_release(struct pp_pair *p)
{
	for (int i = 0; i < PP_READERS; i++)
		if (pp_reader_list[i]->release)
			pp_reader_list[i]->release(p);
	for (int i = 0; i < PP_READERS; i++)
		free(p->state[i]);
	while (p->tracks) {
		struct pp_track *next = p->tracks->next;

		pp_track_free(p->tracks);
		p->tracks = next;
	}
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
	end_track(p->track[slot], PP_TRACK_ENDED);
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

/* The same, found in the records: the slot already names the next thread. */
static void succeeded(struct pp_pair *p, uint32_t slot, const struct pp_record_thread *was)
{
	struct pp_track *track = p->track[slot];

	if (!track)
		return;
	track->tid = was->tid;
	track->is_main = was->is_main != 0;
	memcpy(track->name, was->name, sizeof(track->name) - 1);
	finish_track(p, slot);
}

void pp_pair_close(struct pp_pair *p)
{
	for (struct pp_track *track = p->tracks; track; track = track->next) {
		see_last(p, track);
		if (track->slot != PP_NO_SLOT && p->track[track->slot] == track)
			refresh_name(track);
		end_track(track, PP_TRACK_CLOSED);
	}
}

/* ---- records ---- */

/* Length of the text of a record whose `left` followers are in the same batch; *ret_text may be a copy in the shared buffer. */
static size_t whole_text(struct pp_pair *p, const struct pp_record *copy, const char *inl, const struct pp_record *rest,
                         uint32_t more, const char **ret_text)
{
	size_t most = PP_TEXT_INLINE + (size_t)more * PP_RECORD_CONT_TEXT;
	size_t length = copy->length < most ? copy->length : most;
	char *to = p->shared->text;

	*ret_text = inl;
	if (length <= PP_TEXT_INLINE)
		return length;
	memcpy(to, inl, PP_TEXT_INLINE);
	for (uint32_t i = 0; i < more; i++)
		memcpy(to + PP_TEXT_INLINE + i * PP_RECORD_CONT_TEXT, rest[i].text, PP_RECORD_CONT_TEXT);
	*ret_text = to;
	return length;
}

/* Recording was off, or records were lost. */
static void gap(struct pp_track *track)
{
	uint64_t lost = slot_losses(track);

	end_track(track, lost == track->lost_seen ? PP_TRACK_OFF : PP_TRACK_TORN);
	track->torn |= lost != track->lost_seen;
	track->lost_seen = lost;
}

/* When it was written. */
static pp_tick written(const struct pp_reader_kind *kind, const struct pp_record *r)
{
	return kind->flags & PP_READER_HAS_END ? r->mpi.end : r->tick;
}

static int is_late(struct pp_pair *p, pp_tick tick)
{
	if (tick <= p->latest)
		return 0;
	if (p->has_clock)
		p->latest = pp_tick_read((enum pp_tick_kind)p->header->tick_kind);
	return tick > p->latest;
}

/* Before its process began. A tick of 0 is no time; another tick says nothing where the header is damaged itself. */
static int is_early(const struct pp_pair *p, pp_tick tick)
{
	return tick < p->earliest && (!tick || p->header->open_tick <= p->latest);
}

static int is_bad(struct pp_pair *p, const struct pp_reader_kind *kind, const struct pp_record *r)
{
	if (r->tick > PP_TICK_MOST || (!kind->take_of_slot && (is_late(p, written(kind, r)) || is_early(p, r->tick))))
		return 1;
	if (kind->flags & PP_READER_IN_DOMAIN)
		return r->range.domain >= PP_RING_DOMAINS;
	return kind->kind == PP_RECORD_NONE || (kind->is_bad && kind->is_bad(r));
}

void pp_pair_records(void *context, uint32_t slot, const struct pp_record *record, uint32_t count)
{
	struct pp_pair *p = context;
	struct pp_track *track = p->track[slot];

	p->records += count;
	for (uint32_t i = 0; i < count; i++) {
		/* A copy: a hostile writer may change the record meanwhile. */
		struct pp_record r = record[i];
		const struct pp_reader_kind *kind = &p->shared->kind[r.kind < PP_RECORD_KINDS ? r.kind : PP_RECORD_NONE];
		const char *text = r.range.text;
		size_t length = 0;
		int64_t last;

		if (r.kind == PP_RECORD_NONE && !p->is_left)
			continue;
		if (is_bad(p, kind, &r) || r.more > count - i - 1) {
			p->lost[PP_LOSS_BAD_RECORD]++;
			continue;
		}
		if (r.length)
			length = whole_text(p, &r, r.range.text, record + i + 1, r.more, &text);
		i += r.more;
		if (kind->take_of_slot) {
			kind->take_of_slot(p, slot, &r, text, length);
			if (track)
				track->writes_of_others = 1;
			continue;
		}
		if (r.kind == PP_RECORD_THREAD_END) {
			succeeded(p, slot, &r.thread);
			track = NULL;
			continue;
		}
		if (!track)
			track = new_track(p, slot);
		if (!track) {
			p->lost[PP_LOSS_NO_THREAD]++;
			continue;
		}
		if (r.kind == PP_RECORD_GAP)
			gap(track);
		last = (int64_t)written(kind, &r);
		if ((int64_t)r.tick < track->first)
			track->first = (int64_t)r.tick;
		if (last > track->last)
			track->last = last;
		kind->take(track, &r, text, length);
	}
	if (p->shared->store.bytes > p->shared->store.buffer)
		pp_store_evict(&p->shared->store);
	if (p->emptied >= FORGET_TRACKS)
		forget(p);
}
