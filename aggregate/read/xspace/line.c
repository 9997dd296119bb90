/* Walks a line's events and collects its spans; see line.h. */
#include "aggregate/read/xspace/line.h"

#include <stdlib.h>
#include <string.h>

#include "aggregate/read/xspace/damage.h"
#include "aggregate/read/xspace/kind.h"
#include "aggregate/read/xspace/link.h"
#include "core/base/grow.h"
#include "core/base/huge.h"
#include "core/capture/order.h"
#include "core/capture/thread.h"
#include "core/ring/record.h"

enum { RELEASE_EACH = 1 << 20, LINE_EVENTS = 4, TAG_EVENT = 0x22, DERIVED_LINES = 390, FIRST_SPANS = 256, ROUNDED_NS = 1000 };

#define DERIVED_FIRST 0xdeadbeefu

int64_t pp_xline_number(const uint8_t *text, size_t length)
{
	int64_t number = 0;
	size_t digits = 0;

	while (digits < length && digits < 18 && text[length - digits - 1] >= '0' && text[length - digits - 1] <= '9')
		digits++;
	for (size_t i = length - digits; i < length; i++)
		number = 10 * number + (text[i] - '0');
	return digits ? number : -1;
}

/* As many spans as the line will have, if its other events are as long as those before. */
static size_t likely_spans(const struct pp_xline *l)
{
	double part = (double)(l->at - l->all.data + 1) / (double)l->all.size;
	double spans = 1.05 * (double)l->thread.spans / part;

	return spans < 1e15 ? (size_t)spans + FIRST_SPANS : 0;
}

static int grow(struct pp_xline *l)
{
	struct pp_thread *t = &l->thread;
	size_t room = t->spans ? likely_spans(l) : FIRST_SPANS, least = t->spans + t->spans / 8 + FIRST_SPANS;
	struct pp_span *more = room > least ? pp_huge_malloc(room * sizeof(*more)) : NULL;

	if (!more)
		more = pp_huge_malloc((room = least) * sizeof(*more));
	if (!more)
		return -1;
	if (t->spans)
		memcpy(more, t->span, t->spans * sizeof(*more));
	free(t->span);
	t->span = more;
	l->room = room;
	return 0;
}

struct pp_span *pp_xline_span(struct pp_xread *x, struct pp_xline *l, int64_t begin, int64_t end)
{
	struct pp_thread *t = &l->thread;
	struct pp_span *s;

	if (t->spans == l->room && grow(l)) {
		x->no_memory = 1;
		return NULL;
	}
	s = &t->span[t->spans++];
	*s = (struct pp_span){.begin = begin, .end = end, .source = PP_SOURCE_XSPACE};
	if (t->spans == 1 || begin < t->first)
		t->first = begin;
	if (t->spans == 1 || end > t->last)
		t->last = end;
	if (t->spans > 1 && (begin < s[-1].begin || (begin == s[-1].begin && end > s[-1].end)))
		l->is_unsorted = 1;
	return s;
}

/* An event of less than 128 bytes, as most are. 0: the next field is another one. */
static inline int next_event(struct pp_wire *w, struct pp_field *f)
{
	const uint8_t *at = w->at;

	if (w->end - at < 2 || at[0] != TAG_EVENT || at[1] > 127 || at[1] > w->end - at - 2)
		return 0;
	*f = (struct pp_field){.number = LINE_EVENTS, .type = PP_WIRE_BYTES, .data = at + 2, .size = at[1]};
	w->at = at + 2 + at[1];
	return 1;
}

enum pp_xline_kind pp_xline_kind(const struct pp_xplane *p, const struct pp_xline *l)
{
	uint32_t number = (uint32_t)(uint64_t)l->id - DERIVED_FIRST;

	if (pp_xkind_is_device(p->kind))
		return pp_xkind_device_line(p->kind, l->name, l->id, p->has_streams);
	if (number < DERIVED_LINES)
		return PP_XLINE_DERIVED;
	return !strcmp(l->name, "_counters_") || !strncmp(l->name, "counters_", 9) ? PP_XLINE_COUNTERS : PP_XLINE_HOST;
}

/* What a field says of the line, but its events. */
static void take_head(struct pp_xline *l, const struct pp_field *f)
{
	if (pp_field_is(f, 1, PP_WIRE_VARINT)) {
		l->id = (int64_t)f->value;
	} else if (pp_field_is(f, 3, PP_WIRE_VARINT)) {
		l->timestamp_ns = (int64_t)f->value;
	} else if (f->type == PP_WIRE_BYTES && f->size && (f->number == 11 || (f->number == 2 && !l->length))) {
		l->text = f->data; /* a display name is shown instead of the name */
		l->length = f->size < sizeof(l->name) ? f->size : sizeof(l->name) - 1;
		memcpy(l->name, l->text, l->length);
		l->name[l->length] = '\0';
	}
}

/* What stands before the events. Where bytes that were read are gone: what stands behind them too. */
void pp_xline_head(const struct pp_xread *x, struct pp_xline *l)
{
	struct pp_wire w = {l->all.data, l->all.data + l->all.size};
	struct pp_field f;

	l->is_whole = x->source.is_unpacked;
	while (pp_wire_next(&w, &f) == PP_WIRE_FIELD && (l->is_whole || f.number != LINE_EVENTS))
		take_head(l, &f);
}

/* What stands behind events that were read. Most writers have the display name there, which seldom says how to read the line. */
static void take_late(const struct pp_xread *x, const struct pp_xplane *p, struct pp_xline *l, const struct pp_field *f)
{
	const struct pp_xline before = *l;

	take_head(l, f);
	if (l->id != before.id || l->timestamp_ns != before.timestamp_ns)
		l->is_late = 1;
	if (x->glance->is_podprof ? l->text != before.text : pp_xline_kind(p, l) != before.kind)
		l->is_late = 1;
}

void pp_xline_events(struct pp_xread *x, struct pp_xplane *p, struct pp_xline *l,
                     void (*take)(struct pp_xread *, struct pp_xplane *, struct pp_xline *, const struct pp_field *))
{
	struct pp_wire w = {l->all.data, l->all.data + l->all.size};
	const uint8_t *released = w.at;
	enum pp_wire_result r = PP_WIRE_END;
	int in_head = 1;
	struct pp_field f;

	while (!x->no_memory && (next_event(&w, &f) || (r = pp_wire_next(&w, &f)) == PP_WIRE_FIELD)) {
		if (pp_field_is(&f, LINE_EVENTS, PP_WIRE_BYTES)) {
			in_head = 0;
			take(x, p, l, &f);
		} else if (!in_head && !l->is_whole) {
			take_late(x, p, l, &f);
		}
		l->at = w.at;
		if ((size_t)(w.at - released) > RELEASE_EACH) {
			pp_xsource_release(&x->source, released, w.at);
			released = w.at;
			pp_xsource_progress(&x->source, x->options, w.at);
		}
	}
	pp_xdamage_check(x, r, l->at, "a line");
	pp_xsource_release(&x->source, released, w.at);
}

/* One stream runs one thing at a time, but for the rounding of times; lines of operations nest. */
static void count_overlaps(struct pp_xread *x, const struct pp_xplane *p, const struct pp_xline *l)
{
	const struct pp_thread *t = &l->thread;
	int64_t until = INT64_MIN;

	for (size_t i = 0; p->kind == PP_XPLANE_GPU && p->has_streams && l->kind == PP_XLINE_STREAM && i < t->spans; i++) {
		x->overlaps += i && t->span[i].begin < until - ROUNDED_NS;
		until = t->span[i].end > until ? t->span[i].end : until;
	}
}

void pp_xline_finish(struct pp_xread *x, struct pp_xplane *p, struct pp_xline *l)
{
	struct pp_thread *t = &l->thread;
	struct pp_span *fit;

	if (!t->spans) {
		free(t->span);
		return;
	}
	if (l->is_unsorted && pp_order_spans(t->span, t->spans))
		x->no_memory = 1;
	count_overlaps(x, p, l);
	if (x->has_device && p->kind == PP_XPLANE_HOST && (l->is_unsorted || l->has_region))
		pp_xlink_add_all(x, l);
	fit = t->spans < l->room ? realloc(t->span, t->spans * sizeof(*fit)) : NULL;
	if (fit)
		t->span = fit;
	if (PP_GROW(x->rank.thread, x->rank.threads, x->threads_room)) {
		x->no_memory = 1;
		free(t->span);
		return;
	}
	t->tid = (uint32_t)(uint64_t)l->id;
	t->device = pp_xkind_is_device(p->kind) && l->kind != PP_XLINE_COUNTERS ? p->device + 1 : 0;
	t->name = pp_intern_put(x->names, l->name, l->length);
	x->rank.thread[x->rank.threads++] = *t;
}

void pp_xline_derived(struct pp_xread *x, struct pp_xplane *p, struct pp_xline *l, const struct pp_field *event)
{
	x->rank.trace.derived++;
	(void)p;
	(void)l;
	(void)event;
}
