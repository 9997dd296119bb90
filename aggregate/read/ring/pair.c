/* Pairs the records of one ring into spans while they are drained. Called by rings.c through core/ring/drain's sink. */
#include "aggregate/read/ring/pair.h"

#include <stdlib.h>
#include <string.h>

#include "core/step/category.h"

enum { DEPTH_MOST = 65536, FORGET_LANES = 256 };

void pp_pair_init(struct pp_pair *p, struct pp_read_shared *shared, const struct pp_ring_header *header)
{
	*p = (struct pp_pair){.shared = shared, .header = header, .horizon = INT64_MIN, .last = INT64_MIN};
}

/* Bytes of text of a record whose `left` followers are in the same span; *ret_text may be a copy in the shared room. */
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

/* oneDNN makes a primitive and executes it under one name, in two domains. They are two operators. */
static int is_creation(const struct pp_lane *lane, const struct pp_record *r)
{
	static const char creation[] = "dnnl::primitive::create";

	return r->range.source == PP_SOURCE_ITT &&
	       !strncmp(lane->pair->header->domain[r->range.domain].text, creation, sizeof(creation));
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

/* What stands behind the name is its payload, where the range has no other. Every push goes through it. */
static inline __attribute__((always_inline)) uint32_t intern_range(struct pp_lane *lane, const struct pp_record *r,
                                                                   const char *text, size_t length)
{
	size_t plain = length;

	if (r->range.source == PP_SOURCE_ITT || r->range.source == PP_SOURCE_NVTX)
		plain = pp_name_plain(text, length);
	if (plain < length)
		pp_payload_suffix(lane, r, text + plain + 2, length - plain - 2);
	return is_creation(lane, r) ? intern_creation(lane->pair, text, plain) : intern_text(lane->pair, text, plain);
}

static void push(struct pp_lane *lane, const struct pp_record *r, uint32_t name)
{
	struct pp_stack *s = &lane->stack[r->range.domain];
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
		lane->pair->lost[PP_LOSS_UNBALANCED]++;
		pp_payload_take(lane, r, NULL);
		return;
	}
	span = pp_lane_add(lane, PP_SPAN_RANGE, (int64_t)r->tick, name);
	if (span) {
		span->category = r->range.category <= PP_CATEGORIES ? r->range.category : 0;
		span->source = r->range.source;
		span->domain = r->range.domain;
		span->flags = PP_SPAN_OPEN;
	}
	pp_payload_take(lane, r, span);
	s->entry[s->depth++] = span;
}

static void pop(struct pp_lane *lane, const struct pp_record *r)
{
	struct pp_stack *s = &lane->stack[r->range.domain];
	struct pp_span *span;

	if (s->skipped) {
		s->skipped--;
		return;
	}
	if (!s->depth) {
		lane->pair->lost[PP_LOSS_UNBALANCED] += pp_lane_is_unbalanced(lane);
		return;
	}
	span = s->entry[--s->depth];
	pp_payload_take(lane, r, span);
	if (span)
		pp_lane_end_span(span, (int64_t)r->tick, 0);
}

static void start(struct pp_lane *lane, const struct pp_record *r, uint32_t name)
{
	struct pp_pair *p = lane->pair;
	struct pp_span *span;

	if (p->ranges.used >= PP_OPEN_MOST || pp_open_find(&p->ranges, r->range.id)) {
		p->lost[PP_LOSS_UNBALANCED]++;
		return;
	}
	span = pp_lane_add(lane, PP_SPAN_ASYNC, (int64_t)r->tick, name);
	if (!span)
		return;
	pp_payload_take(lane, r, span);
	span->category = r->range.category <= PP_CATEGORIES ? r->range.category : 0;
	span->source = r->range.source;
	span->domain = r->range.domain;
	span->comm = r->range.id;
	span->flags = PP_SPAN_OPEN;
	if (pp_open_put(&p->ranges, r->range.id, span, lane))
		pp_lane_end_span(span, span->begin, PP_SPAN_CUT_END);
}

static void end(struct pp_lane *lane, const struct pp_record *r)
{
	struct pp_open *open = pp_open_find(&lane->pair->ranges, r->range.id);

	if (!open) {
		lane->pair->lost[PP_LOSS_UNBALANCED] += pp_lane_is_unbalanced(lane);
		return;
	}
	pp_payload_take(lane, r, open->span);
	pp_lane_end_span(open->span, (int64_t)r->tick, 0);
	pp_open_remove(&lane->pair->ranges, open);
}

static void end_of_step(struct pp_lane *lane, const struct pp_record *r)
{
	struct pp_pair *p = lane->pair;

	pp_lane_end_span(lane->step, (int64_t)r->tick, 0);
	p->ended[p->steps_ended++ % PP_STEPS_ENDED] =
	        (struct pp_step_ended){.number = lane->step->number, .begin = lane->step->begin, .end = lane->step->end};
}

static void step_begin(struct pp_lane *lane, const struct pp_record *r)
{
	if (lane->step)
		end_of_step(lane, r);
	lane->step = pp_lane_add(lane, PP_SPAN_STEP, (int64_t)r->tick, 0);
	if (!lane->step)
		return;
	lane->step->number = r->step.number;
	lane->step->flags = PP_SPAN_OPEN;
	/* told by the pattern of collectives: see pp_span */
	lane->step->request = r->step.period;
	lane->step->sequence = r->step.known_from < UINT32_MAX ? (uint32_t)r->step.known_from : UINT32_MAX;
	lane->step->sent = r->step.matched;
	lane->step->received = r->step.irregular;
}

static void step_end(struct pp_lane *lane, const struct pp_record *r)
{
	if (!lane->step) {
		lane->pair->lost[PP_LOSS_UNBALANCED] += pp_lane_is_unbalanced(lane);
		return;
	}
	end_of_step(lane, r);
	lane->step = NULL;
}

static void instant(struct pp_lane *lane, const struct pp_record *r, uint32_t name)
{
	struct pp_span *s = pp_lane_add(lane, r->kind == PP_RECORD_MARK ? PP_SPAN_MARK : PP_SPAN_COUNTER, (int64_t)r->tick, name);

	if (!s)
		return;
	if (r->kind == PP_RECORD_COUNTER) {
		s->value = r->counter.value;
		return;
	}
	pp_payload_take(lane, r, s);
	s->category = r->range.category <= PP_CATEGORIES ? r->range.category : 0;
	s->source = r->range.source;
	s->domain = r->range.domain;
}

static uint64_t slot_losses(const struct pp_lane *lane)
{
	const struct pp_thread_slot *slot = &lane->pair->header->thread[lane->slot];
	uint64_t lost = 0;

	for (int i = 0; i < PP_RING_LOSSES; i++)
		if (i != PP_LOSS_NAME_CUT && i != PP_LOSS_UNBALANCED)
			lost += atomic_load_explicit(&slot->lost[i], memory_order_relaxed);
	return lost;
}

/* PyTorch's ITT ranges are short, and told in windows only: one that was open when recording went off ended meanwhile. */
static void close_told(struct pp_lane *lane)
{
	for (int i = 0; i < PP_RING_DOMAINS; i++) {
		const char *name = lane->pair->header->domain[i].text;

		if (lane->stack[i].depth && !strncmp(name, "PyTorch", sizeof("PyTorch")))
			pp_stack_close(&lane->stack[i], lane->last);
	}
}

/* Recording was off: ranges that stay open are whole; a step (the window ends its own) has lost time that nobody knows.
 * Records were lost: which pops are missing is not known, so what is
 * open ends where the last record before the gap was. */
static void gap(struct pp_lane *lane)
{
	uint64_t lost = slot_losses(lane);

	if (lost == lane->lost_seen) {
		if (lane->step)
			pp_lane_end_span(lane->step, lane->last, PP_SPAN_CUT_BEGIN | PP_SPAN_CUT_END);
		lane->step = NULL;
		close_told(lane);
		return;
	}
	lane->lost_seen = lost;
	lane->torn = 1;
	for (int i = 0; i < PP_RING_DOMAINS; i++)
		pp_stack_close(&lane->stack[i], lane->last);
}

static int is_bad(const struct pp_record *r)
{
	if (r->tick > PP_TICK_MOST)
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
		return r->mpi.end < r->tick || r->mpi.end > PP_TICK_MOST;
	case PP_RECORD_TOLD:
		return pp_told_is_bad(&r->told);
	default:
		return r->kind >= PP_RECORD_KINDS || r->kind == PP_RECORD_TEXT;
	}
}

enum { USAGES_MOST = 1 << 18 }; /* hours at ten a second */

static int make_usage_room(struct pp_pair *p)
{
	size_t room = p->usages_room ? p->usages_room * 2 : 64;
	struct pp_usage *usage;

	if (p->usages < p->usages_room)
		return 0;
	if (p->usages >= USAGES_MOST) {
		p->usages = USAGES_MOST / 2;
		memmove(p->usage, p->usage + USAGES_MOST / 2, (USAGES_MOST / 2) * sizeof(*p->usage));
		return 0;
	}
	usage = realloc(p->usage, room * sizeof(*usage));
	if (!usage)
		return -1;
	p->usage = usage;
	p->usages_room = room;
	return 0;
}

/* What the process has used, at an edge of a step; the oldest go where there are too many. */
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

static void one(struct pp_lane *lane, const struct pp_record *r, const char *text, size_t length)
{
	struct pp_pair *p = lane->pair;

	switch (r->kind) {
	case PP_RECORD_PUSH:
		push(lane, r, intern_range(lane, r, text, length));
		break;
	case PP_RECORD_POP:
		pop(lane, r);
		break;
	case PP_RECORD_START:
		start(lane, r, intern_range(lane, r, text, length));
		break;
	case PP_RECORD_END:
		end(lane, r);
		break;
	case PP_RECORD_MARK:
	case PP_RECORD_COUNTER:
		instant(lane, r, intern_text(p, text, length));
		break;
	case PP_RECORD_STEP_BEGIN:
		step_begin(lane, r);
		break;
	case PP_RECORD_STEP_END:
		step_end(lane, r);
		break;
	case PP_RECORD_MPI:
		pp_lane_mpi(lane, r);
		break;
	case PP_RECORD_REQUEST:
		pp_lane_request(lane, r);
		break;
	case PP_RECORD_COMM:
		pp_lane_comm(lane, r, text, length);
		break;
	case PP_RECORD_PAYLOAD:
		pp_payload_add(lane, r, text, length);
		break;
	case PP_RECORD_PROCESS:
		add_usage(p, r);
		break;
	case PP_RECORD_TOLD:
		pp_pair_told(p, r);
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
	struct pp_lane *lane = p->lane[slot];

	p->records += count;
	for (uint32_t i = 0; i < count; i++) {
		/* A copy: the writer may be hostile and change it under our eyes. */
		struct pp_record r = record[i];
		const char *text = r.range.text;
		size_t length = 0;
		int64_t last;

		if (r.kind == PP_RECORD_NONE)
			continue;
		if (is_bad(&r) || r.more > count - i - 1) {
			p->lost[PP_LOSS_BAD_RECORD]++;
			continue;
		}
		if (r.length)
			length = whole_text(p, &r, r.range.text, record + i + 1, r.more, &text);
		i += r.more;
		if (r.kind == PP_RECORD_THREAD_END) {
			pp_pair_succeeded(p, slot, &r.thread);
			lane = NULL;
			continue;
		}
		if (!lane)
			lane = pp_lane_new(p, slot);
		if (!lane) {
			p->lost[PP_LOSS_NO_THREAD]++;
			continue;
		}
		if (r.kind == PP_RECORD_GAP)
			gap(lane);
		last = r.kind == PP_RECORD_MPI ? (int64_t)r.mpi.end : (int64_t)r.tick;
		if ((int64_t)r.tick < lane->first)
			lane->first = (int64_t)r.tick;
		if (last > lane->last)
			lane->last = last;
		one(lane, &r, text, length);
	}
	if (p->shared->store.bytes > p->shared->store.buffer)
		pp_store_evict(&p->shared->store);
	if (p->emptied >= FORGET_LANES)
		pp_pair_forget(p);
}
