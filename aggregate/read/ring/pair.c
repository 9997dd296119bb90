/* Pairs the records of one ring into spans while they are drained. Called by rings.c through core/ring/drain's sink. */
#include "aggregate/read/ring/pair.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/grow.h"
#include "core/step/category.h"

enum { DEPTH_MOST = 65536, FORGET_TRACKS = 256 };
#define BYTES_MOST ((uint64_t)1 << 50)
#define EARLY_MOST ((pp_tick)1 << 43) /* more than half an hour of any clock */

void pp_pair_init(struct pp_pair *p, struct pp_read_shared *shared, const struct pp_ring_header *header)
{
	*p = (struct pp_pair){.shared = shared, .header = header, .latest = PP_TICK_MOST, .horizon = INT64_MIN, .last = INT64_MIN};
}

void pp_pair_know_clock(struct pp_pair *p)
{
	p->has_clock = 1;
	p->latest = 0;
}

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

static uint32_t intern_text(struct pp_pair *p, const char *text, size_t length)
{
	uint32_t id = pp_intern_put(p->shared->names, text, length);

	if (!id && length)
		p->lost[PP_LOSS_NAME_CUT]++;
	return id;
}

/* oneDNN creates a primitive and executes it under one name, in two domains. They are two operators. */
static int is_creation(const struct pp_track *track, const struct pp_record *r)
{
	static const char creation[] = "dnnl::primitive::create";

	return r->range.source == PP_SOURCE_ITT &&
	       !strncmp(track->pair->header->domain[r->range.domain].text, creation, sizeof(creation));
}

/* Out of line: its array and its branches would cost every push some instructions. */
static __attribute__((noinline)) uint32_t intern_creation(struct pp_pair *p, const char *text, size_t length)
{
	static const char behind[] = " (create)";
	char longer[PP_TEXT_INLINE * 2];

	if (length + sizeof(behind) > sizeof(longer))
		return intern_text(p, text, length);
	memcpy(longer, text, length);
	memcpy(longer + length, behind, sizeof(behind) - 1);
	return intern_text(p, longer, length + sizeof(behind) - 1);
}

/* Text behind the name is the range's payload, unless it has one. Every push calls this. */
static inline __attribute__((always_inline)) uint32_t intern_range(struct pp_track *track, const struct pp_record *r,
                                                                   const char *text, size_t length)
{
	size_t plain = length;

	if (r->range.source == PP_SOURCE_ITT || r->range.source == PP_SOURCE_NVTX)
		plain = pp_name_plain(text, length);
	if (plain < length)
		pp_payload_suffix(track, r, text + plain + 2, length - plain - 2);
	return is_creation(track, r) ? intern_creation(track->pair, text, plain) : intern_text(track->pair, text, plain);
}

static void push(struct pp_track *track, const struct pp_record *r, uint32_t name)
{
	struct pp_stack *s = &track->stack[r->range.domain];
	struct pp_span *span;

	if (s->depth == s->room && s->depth < DEPTH_MOST) {
		uint32_t room = s->room ? s->room * 2 : 32;
		struct pp_span **entry = realloc(s->entry, room * sizeof(struct pp_span *));

		if (entry) {
			s->entry = entry;
			s->room = room;
		}
	}
	if (s->depth == s->room || s->skipped) {
		s->skipped++;
		track->pair->lost[PP_LOSS_UNBALANCED]++;
		pp_payload_take(track, r, NULL);
		return;
	}
	span = pp_track_add(track, PP_SPAN_RANGE, (int64_t)r->tick, name);
	if (span) {
		span->category = r->range.category <= PP_CATEGORIES ? r->range.category : 0;
		span->source = r->range.source;
		span->range.domain = r->range.domain;
		span->flags = PP_SPAN_OPEN;
	}
	pp_payload_take(track, r, span);
	s->entry[s->depth++] = span;
}

static void pop(struct pp_track *track, const struct pp_record *r)
{
	struct pp_stack *s = &track->stack[r->range.domain];
	struct pp_span *span;

	if (s->skipped) {
		s->skipped--;
		return;
	}
	if (!s->depth) {
		track->pair->lost[PP_LOSS_UNBALANCED] += pp_track_is_unbalanced(track);
		return;
	}
	span = s->entry[--s->depth];
	pp_payload_take(track, r, span);
	if (span)
		pp_track_end_span(span, (int64_t)r->tick, 0);
}

static void start(struct pp_track *track, const struct pp_record *r, uint32_t name)
{
	struct pp_pair *p = track->pair;
	struct pp_span *span;

	if (p->ranges.used >= PP_OPEN_MOST || pp_open_find(&p->ranges, r->range.id)) {
		p->lost[PP_LOSS_UNBALANCED]++;
		return;
	}
	span = pp_track_add(track, PP_SPAN_ASYNC, (int64_t)r->tick, name);
	if (!span)
		return;
	pp_payload_take(track, r, span);
	span->category = r->range.category <= PP_CATEGORIES ? r->range.category : 0;
	span->source = r->range.source;
	span->range.domain = r->range.domain;
	span->range.id = r->range.id;
	span->flags = PP_SPAN_OPEN;
	if (pp_open_put(&p->ranges, r->range.id, span, track))
		pp_track_end_span(span, span->begin, PP_SPAN_CUT_END);
}

static void end(struct pp_track *track, const struct pp_record *r)
{
	struct pp_open *open = pp_open_find(&track->pair->ranges, r->range.id);

	if (!open) {
		track->pair->lost[PP_LOSS_UNBALANCED] += pp_track_is_unbalanced(track);
		return;
	}
	pp_payload_take(track, r, open->span);
	pp_track_end_span(open->span, (int64_t)r->tick, 0);
	pp_open_remove(&track->pair->ranges, open);
}

static void end_of_step(struct pp_track *track, const struct pp_record *r)
{
	struct pp_pair *p = track->pair;

	pp_track_end_span(track->step, (int64_t)r->tick, 0);
	p->ended[p->steps_ended++ % PP_STEPS_ENDED] =
	        (struct pp_step_ended){.number = track->step->step.number, .begin = track->step->begin, .end = track->step->end};
}

static void step_begin(struct pp_track *track, const struct pp_record *r)
{
	if (track->step)
		end_of_step(track, r);
	track->step = pp_track_add(track, PP_SPAN_STEP, (int64_t)r->tick, 0);
	if (!track->step)
		return;
	track->step->step = (struct pp_span_step){.number = r->step.number,
	                                          .known_from = (int64_t)r->step.known_from,
	                                          .matched = r->step.matched,
	                                          .irregular = r->step.irregular,
	                                          .period = r->step.period};
	track->step->flags = PP_SPAN_OPEN;
}

static void step_end(struct pp_track *track, const struct pp_record *r)
{
	if (!track->step) {
		track->pair->lost[PP_LOSS_UNBALANCED] += pp_track_is_unbalanced(track);
		return;
	}
	end_of_step(track, r);
	track->step = NULL;
}

static void instant(struct pp_track *track, const struct pp_record *r, uint32_t name)
{
	struct pp_span *s = pp_track_add(track, r->kind == PP_RECORD_MARK ? PP_SPAN_MARK : PP_SPAN_COUNTER, (int64_t)r->tick, name);

	if (!s)
		return;
	if (r->kind == PP_RECORD_COUNTER) {
		s->value = r->counter.value;
		return;
	}
	pp_payload_take(track, r, s);
	s->category = r->range.category <= PP_CATEGORIES ? r->range.category : 0;
	s->source = r->range.source;
	s->range.domain = r->range.domain;
}

static uint64_t slot_losses(const struct pp_track *track)
{
	const struct pp_thread_slot *slot = &track->pair->header->thread[track->slot];
	uint64_t lost = 0;

	for (int i = 0; i < PP_RING_LOSSES; i++)
		if (i != PP_LOSS_NAME_CUT && i != PP_LOSS_UNBALANCED)
			lost += pp_slot_lost(slot, i);
	return lost;
}

/* PyTorch's ITT ranges are short, and reported inside windows only: one that was open when recording went off ended meanwhile. */
static void close_operators(struct pp_track *track)
{
	for (int i = 0; i < PP_RING_DOMAINS; i++) {
		const char *name = track->pair->header->domain[i].text;

		if (track->stack[i].depth && !strncmp(name, "PyTorch", sizeof("PyTorch")))
			pp_stack_close(&track->stack[i], track->last);
	}
}

/* Recording was off: open ranges stay whole; a step (the window ends its own) has lost an unknown time. Records were lost: it is
 * unknown which pops are missing, so open ranges end at the last record before the gap. */
static void gap(struct pp_track *track)
{
	uint64_t lost = slot_losses(track);

	if (lost == track->lost_seen) {
		if (track->step)
			pp_track_end_span(track->step, track->last, PP_SPAN_CUT_BEGIN | PP_SPAN_CUT_END);
		track->step = NULL;
		close_operators(track);
		return;
	}
	track->lost_seen = lost;
	track->torn = 1;
	for (int i = 0; i < PP_RING_DOMAINS; i++)
		pp_stack_close(&track->stack[i], track->last);
}

/* When it was written. */
static pp_tick written(const struct pp_record *r)
{
	return r->kind == PP_RECORD_MPI || r->kind == PP_RECORD_NCCL ? r->mpi.end : r->tick;
}

static int is_late(struct pp_pair *p, pp_tick tick)
{
	if (tick <= p->latest)
		return 0;
	if (p->has_clock)
		p->latest = pp_tick_read((enum pp_tick_kind)p->header->tick_kind);
	return tick > p->latest;
}

/* Before its ring was made, by more than a long first call takes. */
static int is_early(const struct pp_pair *p, const struct pp_record *r)
{
	pp_tick open = p->header->open_tick;

	if (!r->tick && r->kind > PP_RECORD_REQUEST) /* without a time */
		return 0;
	return r->tick < open && open - r->tick > EARLY_MOST && open <= p->latest;
}

/* No call moves a pebibyte. One that failed may have been given any count. */
static int is_much(uint64_t sent, uint64_t received)
{
	return sent > BYTES_MOST || received > BYTES_MOST;
}

static int is_bad(struct pp_pair *p, const struct pp_record *r)
{
	if (r->tick > PP_TICK_MOST || (!pp_is_device(r) && (is_late(p, written(r)) || is_early(p, r))))
		return 1;
	switch (r->kind) {
	case PP_RECORD_PUSH:
	case PP_RECORD_POP:
	case PP_RECORD_START:
	case PP_RECORD_END:
	case PP_RECORD_MARK:
		return r->range.domain >= PP_RING_DOMAINS;
	case PP_RECORD_PAYLOAD:
		return r->payload.domain >= PP_RING_DOMAINS || r->payload.type == PP_PAYLOAD_NONE ||
		       r->payload.type > PP_PAYLOAD_EXT;
	case PP_RECORD_MPI:
		return r->mpi.end < r->tick || (!(r->mpi.flags & PP_MPI_FAILED) && is_much(r->mpi.sent, r->mpi.received));
	case PP_RECORD_REQUEST:
		return is_much(0, r->request.received);
	case PP_RECORD_PROCESS:
		return r->process.user_ns > PP_TICK_MOST || r->process.system_ns > PP_TICK_MOST;
	case PP_RECORD_ANNOTATION:
		return pp_annotation_is_bad(&r->annotation);
	case PP_RECORD_NCCL:
	case PP_RECORD_NCCL_TASK:
		return pp_nccl_is_bad(r);
	default:
		return r->kind >= PP_RECORD_KINDS || r->kind == PP_RECORD_NONE || r->kind == PP_RECORD_TEXT ||
		       (pp_is_device(r) && pp_device_is_bad(r));
	}
}

enum { USAGES_MOST = 1 << 18 }; /* hours at ten a second */

static int make_usage_room(struct pp_pair *p)
{
	struct pp_usage *usage;

	if (p->usages == p->usages_room && p->usages >= USAGES_MOST) {
		p->usages = USAGES_MOST / 2;
		memmove(p->usage, p->usage + USAGES_MOST / 2, (USAGES_MOST / 2) * sizeof(*p->usage));
	}
	usage = pp_grow(p->usage, p->usages, &p->usages_room, sizeof(*usage));
	if (!usage)
		return -1;
	p->usage = usage;
	return 0;
}

/* Adds the process's counters at an edge of a step; drops the oldest where there are too many. */
static void add_usage(struct pp_pair *p, const struct pp_record *r)
{
	const struct pp_record_process *u = &r->process;

	if (make_usage_room(p)) {
		p->lost[PP_LOSS_EVICTED]++;
		return;
	}
	p->usage[p->usages++] = (struct pp_usage){
	        .time = (int64_t)r->tick,
	        .number = u->number,
	        .user_ns = u->user_ns,
	        .system_ns = u->system_ns,
	        .peak_bytes = (uint64_t)u->peak_kib * 1024,
	        .minor_faults = u->minor_faults,
	        .major_faults = u->major_faults,
	        .voluntary = u->voluntary,
	        .involuntary = u->involuntary,
	        .sequence = u->sequence_flags >> 1,
	        .is_end = (u->sequence_flags & 1) != 0,
	};
}

static void one(struct pp_track *track, const struct pp_record *r, const char *text, size_t length)
{
	struct pp_pair *p = track->pair;

	switch (r->kind) {
	case PP_RECORD_PUSH:
		push(track, r, intern_range(track, r, text, length));
		break;
	case PP_RECORD_POP:
		pop(track, r);
		break;
	case PP_RECORD_START:
		start(track, r, intern_range(track, r, text, length));
		break;
	case PP_RECORD_END:
		end(track, r);
		break;
	case PP_RECORD_MARK:
	case PP_RECORD_COUNTER:
		instant(track, r, intern_text(p, text, length));
		break;
	case PP_RECORD_STEP_BEGIN:
		step_begin(track, r);
		break;
	case PP_RECORD_STEP_END:
		step_end(track, r);
		break;
	case PP_RECORD_MPI:
		pp_track_mpi(track, r);
		break;
	case PP_RECORD_MESSAGE:
		pp_pair_message_add(track, r);
		break;
	case PP_RECORD_REQUEST:
		pp_track_request(track, r);
		break;
	case PP_RECORD_COMM:
		pp_track_comm(track, r, text, length);
		break;
	case PP_RECORD_PAYLOAD:
		pp_payload_add(track, r, text, length);
		break;
	case PP_RECORD_PROCESS:
		add_usage(p, r);
		break;
	case PP_RECORD_ANNOTATION:
		pp_pair_annotation(p, r);
		break;
	case PP_RECORD_NCCL:
	case PP_RECORD_NCCL_TASK:
	case PP_RECORD_NCCL_DONE:
		pp_track_nccl(track, r);
		break;
	case PP_RECORD_REMARK:
		pp_pair_remark(p, text, length);
		break;
	default:
		break;
	}
}

void pp_pair_records(void *context, uint32_t slot, const struct pp_record *record, uint32_t count)
{
	struct pp_pair *p = context;
	struct pp_track *track = p->track[slot];

	p->records += count;
	for (uint32_t i = 0; i < count; i++) {
		/* A copy: a hostile writer may change the record meanwhile. */
		struct pp_record r = record[i];
		const char *text = r.range.text;
		size_t length = 0;
		int64_t last;

		if (r.kind == PP_RECORD_NONE && !p->is_left)
			continue;
		if (is_bad(p, &r) || r.more > count - i - 1) {
			p->lost[PP_LOSS_BAD_RECORD]++;
			continue;
		}
		if (r.length)
			length = whole_text(p, &r, r.range.text, record + i + 1, r.more, &text);
		i += r.more;
		if (pp_is_device(&r)) {
			pp_pair_device(p, slot, &r, text, length);
			if (track)
				track->writes_devices = 1;
			continue;
		}
		if (r.kind == PP_RECORD_THREAD_END) {
			pp_pair_succeeded(p, slot, &r.thread);
			track = NULL;
			continue;
		}
		if (!track)
			track = pp_track_new(p, slot);
		if (!track) {
			p->lost[PP_LOSS_NO_THREAD]++;
			continue;
		}
		if (r.kind == PP_RECORD_GAP)
			gap(track);
		last = (int64_t)written(&r);
		if ((int64_t)r.tick < track->first)
			track->first = (int64_t)r.tick;
		if (last > track->last)
			track->last = last;
		one(track, &r, text, length);
	}
	if (p->shared->store.bytes > p->shared->store.buffer)
		pp_store_evict(&p->shared->store);
	if (p->emptied >= FORGET_TRACKS)
		pp_pair_forget(p);
}
