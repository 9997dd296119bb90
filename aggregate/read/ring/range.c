/* Ranges, marks and counters of a ring: shadow stacks of each thread and domain, ranges that any thread may end by id. */
#include <stdlib.h>
#include <string.h>

#include "aggregate/read/ring/open_table.h"
#include "aggregate/read/ring/payload.h"
#include "aggregate/read/ring/reader.h"
#include "aggregate/read/ring/track.h"
#include "core/base/grow.h"
#include "core/capture/rank.h"
#include "core/capture/thread.h"
#include "core/ring/intern.h"
#include "core/step/category.h"
#include "core/step/library_domain.h"

enum { DEPTH_MOST = 65536 };

struct stack { /* open pushes of one thread and domain */
	struct pp_span **entry;
	uint32_t depth, room;
	uint32_t skipped; /* pushes above the deepest that is tracked */
};

struct stacks { /* of a thread */
	struct stack of[PP_RING_DOMAINS];
};

/* Length of a range's name without PyTorch's suffix: ", seq = 3, sizes = [[2]]". */
static size_t plain_length(const char *text, size_t length)
{
	static const char *const marks[] = {", seq = ", ", op_id = ", ", sizes = ", ", input_op_ids = "};
	const char *end = text + length;

	if (!length)
		return 0;
	for (const char *c = memchr(text + 1, ',', length - 1); c; c = memchr(c + 1, ',', (size_t)(end - c - 1)))
		for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
			if ((size_t)(end - c) >= strlen(marks[i]) && !memcmp(c, marks[i], strlen(marks[i])))
				return (size_t)(c - text);
	return length;
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
		return pp_pair_intern(p, text, length);
	memcpy(longer, text, length);
	memcpy(longer + length, behind, sizeof(behind) - 1);
	return pp_pair_intern(p, longer, length + sizeof(behind) - 1);
}

/* Text behind the name is the range's payload, unless it has one. Every push calls this. */
static inline __attribute__((always_inline)) uint32_t intern_range(struct pp_track *track, const struct pp_record *r,
                                                                   const char *text, size_t length)
{
	size_t plain = length;

	if (r->range.source == PP_SOURCE_ITT || r->range.source == PP_SOURCE_NVTX)
		plain = plain_length(text, length);
	if (plain < length)
		pp_payload_suffix(track, r, text + plain + 2, length - plain - 2);
	return is_creation(track, r) ? intern_creation(track->pair, text, plain) : pp_pair_intern(track->pair, text, plain);
}

/* Does the stack hold one more? */
static int make_room(struct stack *s)
{
	if (s->depth == s->room && s->depth < DEPTH_MOST) {
		uint32_t room = s->room ? s->room * 2 : 32;

		/* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers */
		if (!PP_RESIZE(s->entry, room))
			s->room = room;
	}
	return s->depth < s->room;
}

static void push(struct pp_track *track, const struct pp_record *r, const char *text, size_t length)
{
	uint32_t name = intern_range(track, r, text, length);
	struct stacks *all = track->state[PP_READER_RANGE];
	struct stack *s;
	struct pp_span *span;

	if (!all)
		all = pp_track_state(track, PP_READER_RANGE, sizeof(*all));
	s = all ? &all->of[r->range.domain] : NULL;
	if (!s || (s->depth == s->room && !make_room(s)) || s->skipped) {
		if (s)
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

static void pop(struct pp_track *track, const struct pp_record *r, const char *text, size_t length)
{
	struct stacks *all = track->state[PP_READER_RANGE];
	struct stack *s = all ? &all->of[r->range.domain] : NULL;
	struct pp_span *span;

	(void)text;
	(void)length;
	if (s && s->skipped) {
		s->skipped--;
		return;
	}
	if (!s || !s->depth) {
		track->pair->lost[PP_LOSS_UNBALANCED] += pp_track_is_unbalanced(track);
		return;
	}
	span = s->entry[--s->depth];
	pp_payload_take(track, r, span);
	if (span)
		pp_track_end_span(span, (int64_t)r->tick, 0);
}

static void start(struct pp_track *track, const struct pp_record *r, const char *text, size_t length)
{
	struct pp_pair *p = track->pair;
	struct pp_open_table *ranges = pp_pair_state(p, PP_READER_RANGE, sizeof(*ranges));
	uint32_t name = intern_range(track, r, text, length);
	struct pp_span *span;

	if (!ranges || ranges->used >= PP_OPEN_MOST || pp_open_find(ranges, r->range.id)) {
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
	if (pp_open_put(ranges, r->range.id, span, track))
		pp_track_end_span(span, span->begin, PP_SPAN_CUT_END);
}

static void end(struct pp_track *track, const struct pp_record *r, const char *text, size_t length)
{
	struct pp_open_table *ranges = track->pair->state[PP_READER_RANGE];
	struct pp_open *open = ranges ? pp_open_find(ranges, r->range.id) : NULL;

	(void)text;
	(void)length;
	if (!open) {
		track->pair->lost[PP_LOSS_UNBALANCED] += pp_track_is_unbalanced(track);
		return;
	}
	pp_payload_take(track, r, open->span);
	pp_track_end_span(open->span, (int64_t)r->tick, 0);
	pp_open_remove(ranges, open);
}

static void mark(struct pp_track *track, const struct pp_record *r, const char *text, size_t length)
{
	struct pp_span *s = pp_track_add(track, PP_SPAN_MARK, (int64_t)r->tick, pp_pair_intern(track->pair, text, length));

	if (!s)
		return;
	pp_payload_take(track, r, s);
	s->category = r->range.category <= PP_CATEGORIES ? r->range.category : 0;
	s->source = r->range.source;
	s->range.domain = r->range.domain;
}

static void counter(struct pp_track *track, const struct pp_record *r, const char *text, size_t length)
{
	struct pp_span *s = pp_track_add(track, PP_SPAN_COUNTER, (int64_t)r->tick, pp_pair_intern(track->pair, text, length));

	if (s)
		s->value = r->counter.value;
}

static void close_stack(struct stack *s, int64_t at)
{
	for (uint32_t i = 0; i < s->depth; i++)
		if (s->entry[i])
			pp_track_end_span(s->entry[i], at, PP_SPAN_CUT_END);
	s->depth = s->skipped = 0;
}

/* PyTorch's ITT ranges and calls of Python are short, and reported inside windows only: one that was open when recording went off
 * ended meanwhile. */
static int ends_when_off(const struct pp_track *track, int domain)
{
	const char *text = track->pair->header->domain[domain].text;

	return !strncmp(text, "PyTorch", sizeof("PyTorch")) || !strncmp(text, PP_CALLS_DOMAIN, sizeof(PP_CALLS_DOMAIN));
}

/* The thread, or the rank, ended normally: what is open now never ends. */
static int never_ends(const struct pp_track *track, enum pp_track_end why)
{
	return why >= PP_TRACK_ENDED && (why == PP_TRACK_ENDED || pp_ring_state(track->pair->header) == PP_RANK_ENDING) &&
	       pp_track_is_unbalanced(track);
}

/* Recording was off: open ranges stay whole. Records were lost: it is unknown which pops are missing, so open ranges end at the
 * last record before the gap. A range by id may end on another thread than the one it began on. */
static void thread_end(struct pp_track *track, enum pp_track_end why)
{
	struct stacks *all = track->state[PP_READER_RANGE];
	struct pp_open_table *ranges = track->pair->state[PP_READER_RANGE];
	const int never = never_ends(track, why);

	for (int i = 0; all && i < PP_RING_DOMAINS; i++) {
		struct stack *s = &all->of[i];

		track->pair->lost[PP_LOSS_UNBALANCED] += never ? s->depth : 0;
		if (why != PP_TRACK_OFF || (s->depth && ends_when_off(track, i)))
			close_stack(s, track->last);
		if (why >= PP_TRACK_ENDED) {
			free(s->entry);
			*s = (struct stack){0};
		}
	}
	if (ranges && why == PP_TRACK_CLOSED) {
		size_t ended = pp_open_close(ranges, track);

		track->pair->lost[PP_LOSS_UNBALANCED] += never ? ended : 0;
	}
}

static void moved(struct pp_track *track, const struct pp_span *old, struct pp_span *to)
{
	struct stacks *all = track->state[PP_READER_RANGE];
	struct stack *s = all && old->kind == PP_SPAN_RANGE ? &all->of[old->range.domain] : NULL;

	if (old->kind == PP_SPAN_ASYNC && track->pair->state[PP_READER_RANGE])
		pp_open_moved(track->pair->state[PP_READER_RANGE], old->range.id, to);
	for (uint32_t i = 0; s && i < s->depth; i++)
		if (s->entry[i] == old) {
			s->entry[i] = to;
			return;
		}
}

/* PyTorch's domain of ITT has its operators, and ranges of the program under their names. */
static int is_operator(const struct pp_pair *p, const struct pp_span *span)
{
	static const char torch[] = "PyTorch";
	size_t length;
	const char *name;

	if (span->source != PP_SOURCE_ITT || strncmp(p->header->domain[span->range.domain].text, torch, sizeof(torch)) != 0)
		return 0;
	name = pp_intern_text(p->shared->names, span->name, &length);
	return memmem(name, length, "::", 2) != NULL;
}

/* Domain 0 is the default one: the program's. */
static int set_origins(struct pp_pair *p, struct pp_rank *rank, size_t first_thread)
{
	uint64_t library = 0;

	for (unsigned i = 1; i < PP_RING_DOMAINS; i++)
		if (pp_library_domain(p->header->domain[i].text, sizeof(p->header->domain[i].text)))
			library |= UINT64_C(1) << i;
	for (size_t t = first_thread; t < rank->threads; t++)
		for (size_t i = 0; i < rank->thread[t].spans; i++) {
			struct pp_span *span = &rank->thread[t].span[i];
			const int has_origin = span->kind == PP_SPAN_RANGE || span->kind == PP_SPAN_ASYNC;

			if (!has_origin || !span->range.domain || span->range.domain >= PP_RING_DOMAINS)
				continue;
			if (library >> span->range.domain & 1)
				span->range.origin = PP_ORIGIN_LIBRARY;
			else if (span->source == PP_SOURCE_PYTHON)
				span->range.origin = PP_ORIGIN_PYTHON;
			else if (is_operator(p, span))
				span->range.origin = PP_ORIGIN_OPERATOR;
		}
	return 0;
}

static void release(struct pp_pair *p)
{
	for (const struct pp_track *track = p->tracks; track; track = track->next) {
		const struct stacks *all = track->state[PP_READER_RANGE];

		for (int i = 0; all && i < PP_RING_DOMAINS; i++)
			free(all->of[i].entry);
	}
	if (p->state[PP_READER_RANGE])
		pp_open_release(p->state[PP_READER_RANGE]);
}

static const struct pp_reader_kind kinds[] = {
        {.kind = PP_RECORD_PUSH, .flags = PP_READER_IN_DOMAIN, .take = push},
        {.kind = PP_RECORD_POP, .flags = PP_READER_IN_DOMAIN, .take = pop},
        {.kind = PP_RECORD_START, .flags = PP_READER_IN_DOMAIN, .take = start},
        {.kind = PP_RECORD_END, .flags = PP_READER_IN_DOMAIN, .take = end},
        {.kind = PP_RECORD_MARK, .flags = PP_READER_IN_DOMAIN, .take = mark},
        {.kind = PP_RECORD_COUNTER, .take = counter},
        {.kind = PP_RECORD_NONE},
};

const struct pp_reader_ops pp_reader_range = {
        .name = "range",
        .kinds = kinds,
        .thread_end = thread_end,
        .moved = moved,
        .finish = set_origins,
        .release = release,
};
