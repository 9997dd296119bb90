/* Reads a line's events into the spans of a thread or a stream; see private.h. Called by xspace.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/read/ring/order.h"
#include "aggregate/read/xspace/private.h"
#include "core/base/grow.h"
#include "core/base/huge.h"
#include "core/capture/thread.h"
#include "core/ring/record.h"
#include "core/step/category.h"
#include "core/step/kernel_name.h"

enum { RELEASE_EACH = 1 << 20, LINE_EVENTS = 4, TAG_EVENT = 0x22, DERIVED_LINES = 390, FIRST_SPANS = 256 };

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

enum line_kind { LINE_DERIVED, LINE_STEPS, LINE_HOST, LINE_STREAM, LINE_COUNTERS };

/* Viewers add lines to a device's streams, made from their events: by number, in old files by name. */
static enum line_kind kind_of(const struct pp_xplane *p, const struct pp_xline *l)
{
	static const char *const derived[] = {
	        "TensorFlow Ops", "TensorFlow Name Scope", "Framework Ops", "Framework Name Scope", "XLA Modules",     "XLA Ops",
	        "Async XLA Ops",  "Launch Stats",          "Source code",   "Source Code",          "Host Offload Ops"};
	uint32_t number = (uint32_t)(uint64_t)l->id - DERIVED_FIRST;

	if (p->kind != PP_XPLANE_HOST && (!number || !strcmp(l->name, "Steps")))
		return LINE_STEPS;
	if (p->kind == PP_XPLANE_TPU)
		return strcmp(l->name, "XLA Ops") ? LINE_DERIVED : LINE_STREAM;
	if (number < DERIVED_LINES)
		return LINE_DERIVED;
	if (p->kind == PP_XPLANE_HOST)
		return !strcmp(l->name, "_counters_") || !strncmp(l->name, "counters_", 9) ? LINE_COUNTERS : LINE_HOST;
	for (size_t i = 0; i < sizeof(derived) / sizeof(derived[0]); i++)
		if (!strcmp(l->name, derived[i]))
			return LINE_DERIVED;
	return LINE_STREAM;
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
static void read_head(const struct pp_xread *x, struct pp_xline *l)
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
	if (x->glance->is_podprof ? l->text != before.text : kind_of(p, l) != before.kind)
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
			pp_xspace_progress(x, w.at);
		}
	}
	pp_xspace_check(x, r, l->at, "a line");
	pp_xsource_release(&x->source, released, w.at);
}

static void link_event(struct pp_xread *x, struct pp_xline *l, const struct pp_xevent *e, int is_consumer, int64_t begin,
                       int64_t end)
{
	struct pp_xlinked *more = pp_grow(x->linked, x->linkeds, &x->linkeds_room, sizeof(*more));

	if (!more) {
		x->no_memory = 1;
		return;
	}
	x->linked = more;
	x->linked[x->linkeds++] = (struct pp_xlinked){
	        .begin = begin,
	        .end = end,
	        .id = is_consumer ? e->number[PP_XS_CONSUMER] : e->number[PP_XS_PRODUCER],
	        .type = (int32_t)(is_consumer ? e->number[PP_XS_CONSUMER_TYPE] : e->number[PP_XS_PRODUCER_TYPE]),
	        .thread = (uint32_t)x->rank.threads,
	        .is_consumer = is_consumer,
	};
	(void)l;
}

/* A thread pool's thread works for somebody from the event that says so to the next that ends it: one range, as in xprof. */
static int take_region(struct pp_xread *x, struct pp_xline *l, const struct pp_xmeta *m, int64_t end)
{
	if (m->kind != PP_XEVENT_REGION_END || !l->region)
		return 0;
	l->thread.span[l->region - 1].end = end;
	if (end > l->thread.span[l->region - 1].begin)
		l->thread.span[l->region - 1].kind = PP_SPAN_RANGE;
	if (end > l->thread.last)
		l->thread.last = end;
	l->thread.span[l->region - 1].name = pp_intern_put(x->names, "ThreadpoolListener::Region", 26);
	l->thread.kinds |= PP_SPAN_BIT(PP_SPAN_RANGE);
	if (l->region_link)
		x->linked[l->region_link - 1].end = end;
	l->region = l->region_link = 0;
	return 1;
}

/* What may be a step; steps.c decides. Its number, group, level and class are kept where a step's pattern would be. */
static int is_candidate(const struct pp_xevent *e, const struct pp_xmeta *m)
{
	if (pp_xevent_has(e, PP_XS_ROOT) && (int64_t)e->number[PP_XS_ROOT] > 0)
		return 1;
	if (m->kind == PP_XEVENT_MARKER && pp_xevent_has(e, PP_XS_GROUP_ID))
		return 1;
	return (pp_xevent_has(e, PP_XS_GROUP_ID) && pp_xevent_has(e, PP_XS_STEP_NAME)) || pp_xevent_has(e, PP_XS_STEP_NUM) ||
	       (m->kind == PP_XEVENT_MARKER && m->length >= 12 && !memcmp(m->text, "TraceContext", 12));
}

static void make_candidate(struct pp_span *s, const struct pp_xevent *e, const struct pp_xmeta *m)
{
	int64_t number = -1;

	if (pp_xevent_has(e, PP_XS_STEP_NUM))
		number = (int64_t)e->number[PP_XS_STEP_NUM];
	else if (pp_xevent_has(e, PP_XS_ITER_NUM))
		number = (int64_t)e->number[PP_XS_ITER_NUM];
	else if (pp_xevent_has(e, PP_XS_STEP_NAME))
		number = pp_xline_number(e->text[PP_XS_STEP_NAME].text, e->text[PP_XS_STEP_NAME].length);
	s->kind = PP_SPAN_STEP;
	s->step.number = number;
	s->step.known_from = pp_xevent_has(e, PP_XS_GROUP_ID) ? (int64_t)e->number[PP_XS_GROUP_ID] : -1;
	s->step.matched = pp_xevent_has(e, PP_XS_ROOT) ? e->number[PP_XS_ROOT] : m->kind == PP_XEVENT_MARKER;
	s->step.irregular = m->kind == PP_XEVENT_IMPLICIT;
}

static void take_host(struct pp_xread *x, struct pp_xplane *p, struct pp_xline *l, const struct pp_field *event)
{
	static const struct pp_xmeta none = {.kind = PP_XEVENT_PLAIN};
	const struct pp_xmeta *m;
	struct pp_xevent e;
	int64_t begin, end;
	struct pp_span *s;

	x->rank.trace.events++;
	if (!pp_xevent_read(x, p, l, event, &e, &begin, &end))
		return;
	m = pp_xplane_event(x, p, e.metadata);
	if (!m)
		m = &none;
	if (m->kind == PP_XEVENT_ALLOCATION || m->kind == PP_XEVENT_FREE) {
		pp_xmemory_take(x, p, event, begin, m->kind == PP_XEVENT_FREE);
		return;
	}
	if (take_region(x, l, m, end) || !(s = pp_xline_span(x, l, begin, end)))
		return;
	s->name = m == &none ? p->unnamed : m->name;
	if (is_candidate(&e, m)) {
		make_candidate(s, &e, m);
	} else {
		s->kind = pp_xevent_has(&e, PP_XS_ASYNC) && e.number[PP_XS_ASYNC] ? PP_SPAN_ASYNC
		          : end > begin                                           ? PP_SPAN_RANGE
		                                                                  : PP_SPAN_MARK;
		if (m->kind == PP_XEVENT_INPUT)
			s->flags |= PP_SPAN_WAITS_INPUT;
		if (pp_xevent_has(&e, PP_XS_CORRELATION))
			s->range.id = e.number[PP_XS_CORRELATION];
		if (m->is_unknown && s->range.id &&
		    pp_xevent_has(&e, PP_XS_KERNEL_DETAILS)) /* old TensorFlow names it like the kernel */
			s->category = PP_CATEGORY_KERNEL_LAUNCH;
	}
	l->thread.kinds |= PP_SPAN_BIT(s->kind);
	if (x->has_device)
		pp_xlink_see(x, l, l->thread.spans - 1);
	if (m->kind == PP_XEVENT_REGION_BEGIN) {
		l->has_region = 1;
		l->region = l->thread.spans;
		l->region_link = 0;
	}
	if (!x->keeps_links)
		return;
	if (pp_xevent_has(&e, PP_XS_PRODUCER_TYPE) && pp_xevent_has(&e, PP_XS_PRODUCER))
		link_event(x, l, &e, 0, begin, end);
	if (pp_xevent_has(&e, PP_XS_CONSUMER_TYPE) && pp_xevent_has(&e, PP_XS_CONSUMER)) {
		link_event(x, l, &e, 1, begin, end);
		if (m->kind == PP_XEVENT_REGION_BEGIN)
			l->region_link = x->linkeds;
	}
}

static uint32_t launch_of(struct pp_xread *x, const struct pp_xevent *e)
{
	const struct pp_xtext *d = &e->text[PP_XS_KERNEL_DETAILS];
	uint32_t launch;

	if (d->meta && d->meta->launch)
		return d->meta->launch;
	if (!d->length)
		return 0;
	launch = pp_xdevice_launch(x, (const char *)d->text, d->length, pp_xevent_has(e, PP_XS_OCCUPANCY) ? e->occupancy : -1);
	/* The text alone decides where it has the occupancy, or no event has one. */
	if (d->meta && (!pp_xevent_has(e, PP_XS_OCCUPANCY) || memmem(d->text, d->length, "occ_pct:", 8)))
		d->meta->launch = launch;
	return launch;
}

/* The operator in "name:Type#shape=(half[4,8])#". */
static uint32_t annotation_of(struct pp_xread *x, const struct pp_xtext *t)
{
	const uint8_t *end;
	uint32_t op;

	if (t->meta && t->meta->op)
		return t->meta->op;
	if (!t->length)
		return 0;
	end = memchr(t->text, '#', t->length);
	op = pp_intern_put(x->names, (const char *)t->text, end ? (size_t)(end - t->text) : t->length);
	if (t->meta)
		t->meta->op = op;
	return op;
}

static uint32_t op_of(struct pp_xread *x, const struct pp_xevent *e, const struct pp_xmeta *m)
{
	uint32_t op = pp_xevent_has(e, PP_XS_OP) ? pp_xtext_intern(x, &e->text[PP_XS_OP]) : 0;

	if (op)
		return op;
	return pp_xevent_has(e, PP_XS_ANNOTATION) ? annotation_of(x, &e->text[PP_XS_ANNOTATION]) : m->op;
}

static uint64_t bytes_of(const struct pp_xtext *t)
{
	if (t->meta && t->meta->bytes >= 0)
		return (uint64_t)t->meta->bytes;
	if (!t->meta)
		return pp_xdevice_bytes((const char *)t->text, t->length);
	t->meta->bytes = (int64_t)pp_xdevice_bytes((const char *)t->text, t->length);
	return (uint64_t)t->meta->bytes;
}

/* A shape lists types: without one of 16 bits it is 32-bit, as in xprof. */
static uint8_t precision_of_shape(const struct pp_xtext *t)
{
	return pp_kernel_precision((const char *)t->text, t->length) == PP_PRECISION_16 ? PP_PRECISION_16 : PP_PRECISION_32;
}

/* By its shape, else by its name. */
static uint8_t precision_of(const struct pp_xevent *e, const struct pp_xmeta *m)
{
	const struct pp_xtext *t = &e->text[PP_XS_SHAPE];

	if (!pp_xevent_has(e, PP_XS_SHAPE) || !t->length)
		return m->precision;
	if (!t->meta)
		return precision_of_shape(t);
	if (t->meta->precision == PP_PRECISION_UNKNOWN)
		t->meta->precision = precision_of_shape(t);
	return t->meta->precision;
}

void pp_xline_device(struct pp_xread *x, struct pp_xplane *p, struct pp_xline *l, const struct pp_field *event)
{
	static const struct pp_xmeta none = {.kind = PP_XEVENT_PLAIN};
	const struct pp_xmeta *m;
	struct pp_xevent e;
	struct pp_span *s;
	int64_t begin, end;

	x->rank.trace.events++;
	if (!pp_xevent_read(x, p, l, event, &e, &begin, &end))
		return;
	m = pp_xplane_event(x, p, e.metadata);
	if (!m)
		m = &none;
	s = pp_xline_span(x, l, begin, end);
	if (!s)
		return;
	s->name = m == &none ? p->unnamed : m->name;
	s->kind = PP_SPAN_DEVICE;
	l->thread.kinds |= PP_SPAN_BIT(PP_SPAN_DEVICE);
	s->device.activity = m->activity;
	s->device.step = pp_xevent_has(&e, PP_XS_GROUP_ID) ? (int64_t)e.number[PP_XS_GROUP_ID] : -1;
	s->device.correlation = pp_xevent_has(&e, PP_XS_CORRELATION) ? e.number[PP_XS_CORRELATION] : 0;
	s->device.bytes = pp_xevent_has(&e, PP_XS_COPY_DETAILS) ? bytes_of(&e.text[PP_XS_COPY_DETAILS]) : 0;
	s->device.op = op_of(x, &e, m);
	if (pp_xevent_has(&e, PP_XS_KERNEL_DETAILS))
		s->device.launch = launch_of(x, &e);
	if (m->activity == PP_DEVICE_KERNEL)
		s->device.precision = precision_of(&e, m);
	if (x->launches.is_indexed)
		pp_xlink_tie(x, s);
}

/* An event of a device's line "Steps". */
static void take_step(struct pp_xread *x, struct pp_xplane *p, struct pp_xline *l, const struct pp_field *event)
{
	struct pp_xmark mark = {.group = -1, .number = -1}, *more;
	const struct pp_xmeta *m;
	struct pp_xevent e;

	x->rank.trace.events++;
	if (!pp_xevent_read(x, p, l, event, &e, &mark.begin, &mark.end))
		return;
	m = pp_xplane_event(x, p, e.metadata);
	if (pp_xevent_has(&e, PP_XS_STEP_NAME))
		mark.number = pp_xline_number(e.text[PP_XS_STEP_NAME].text, e.text[PP_XS_STEP_NAME].length);
	if (mark.number < 0 && m)
		mark.number = pp_xline_number(m->text, m->length);
	if (pp_xevent_has(&e, PP_XS_GROUP_ID))
		mark.group = (int64_t)e.number[PP_XS_GROUP_ID];
	else if (mark.number >= 0)
		mark.group = mark.number;
	more = pp_grow(x->mark, x->marks, &x->marks_room, sizeof(*more));
	if (!more) {
		x->no_memory = 1;
		return;
	}
	x->mark = more;
	x->mark[x->marks++] = mark;
	(void)l;
}

static void take_counter(struct pp_xread *x, struct pp_xplane *p, struct pp_xline *l, const struct pp_field *event)
{
	struct pp_wire w = pp_wire_of(event);
	struct pp_xevent e;
	const struct pp_xmeta *m;
	int64_t begin, end;
	struct pp_field f;

	x->rank.trace.events++;
	if (!pp_xevent_read(x, p, l, event, &e, &begin, &end) || !(m = pp_xplane_event(x, p, e.metadata)))
		return;
	while (pp_wire_next(&w, &f) == PP_WIRE_FIELD) {
		struct pp_wire stat = pp_wire_of(&f);
		struct pp_xmeta *series = NULL;
		char name[256];
		double value = 0;
		struct pp_span *s;
		struct pp_field g;

		if (!pp_field_is(&f, 4, PP_WIRE_BYTES))
			continue;
		while (pp_wire_next(&stat, &g) == PP_WIRE_FIELD) {
			if (pp_field_is(&g, 1, PP_WIRE_VARINT))
				series = pp_xplane_stat(x, p, g.value);
			else if (pp_field_is(&g, 2, PP_WIRE_FIXED64))
				memcpy(&value, &g.value, sizeof(value));
			else if (g.type == PP_WIRE_VARINT)
				value = (double)(int64_t)g.value;
		}
		s = series ? pp_xline_span(x, l, begin, begin) : NULL;
		if (!s)
			continue;
		snprintf(name, sizeof(name), "%.*s %.*s", (int)(m->length < 120 ? m->length : 120), (const char *)m->text,
		         (int)(series->length < 120 ? series->length : 120), (const char *)series->text);
		s->kind = PP_SPAN_COUNTER;
		s->name = pp_intern_put(x->names, name, strlen(name));
		s->value = value;
		l->thread.kinds |= PP_SPAN_BIT(PP_SPAN_COUNTER);
	}
}

void pp_xline_finish(struct pp_xread *x, struct pp_xplane *p, struct pp_xline *l)
{
	struct pp_thread *t = &l->thread, *more;
	struct pp_span *fit;

	if (!t->spans) {
		free(t->span);
		return;
	}
	if (l->is_unsorted && pp_order_spans(t->span, t->spans))
		x->no_memory = 1;
	if (x->has_device && p->kind == PP_XPLANE_HOST && (l->is_unsorted || l->has_region))
		pp_xlink_see_all(x, l);
	fit = t->spans < l->room ? realloc(t->span, t->spans * sizeof(*fit)) : NULL;
	if (fit)
		t->span = fit;
	more = pp_grow(x->rank.thread, x->rank.threads, &x->threads_room, sizeof(*more));
	if (!more) {
		x->no_memory = 1;
		free(t->span);
		return;
	}
	x->rank.thread = more;
	t->tid = (uint32_t)(uint64_t)l->id;
	t->device = p->kind == PP_XPLANE_HOST ? 0 : p->device + 1;
	t->name = pp_intern_put(x->names, l->name, l->length);
	x->rank.thread[x->rank.threads++] = *t;
}

static void take_derived(struct pp_xread *x, struct pp_xplane *p, struct pp_xline *l, const struct pp_field *event)
{
	x->rank.trace.derived++;
	(void)p;
	(void)l;
	(void)event;
}

static void read_line(struct pp_xread *x, struct pp_xplane *p, struct pp_xline *l)
{
	const enum line_kind kind = l->kind = kind_of(p, l);

	pp_xline_events(x, p, l,
	                kind == LINE_DERIVED    ? take_derived
	                : kind == LINE_STEPS    ? take_step
	                : kind == LINE_HOST     ? take_host
	                : kind == LINE_COUNTERS ? take_counter
	                                        : pp_xline_device);
	if (!l->is_late)
		pp_xline_finish(x, p, l);
}

/* Metadata that were looked at for this line will be looked at again, so that damage in them is counted again. */
static void forget(struct pp_xread *x, struct pp_xtable *t)
{
	for (size_t i = 0; i < t->metas; i++)
		if (t->meta[i].line == x->lines)
			t->meta[i].is_ready = 0;
}

/* As if the line was not read. */
static void undo(struct pp_xread *x, const struct pp_xread *before, struct pp_xplane *p, struct pp_xline *l)
{
	x->rank.trace = before->rank.trace;
	x->rank.allocations = before->rank.allocations;
	x->marks = before->marks;
	x->linkeds = before->linkeds;
	x->memories = before->memories;
	x->launches.count = l->launches;
	x->launches.opens = 0;
	forget(x, &p->events);
	forget(x, &p->stats);
	l->at = l->all.data;
	l->thread.spans = l->region = l->region_link = 0;
	l->thread.kinds = 0;
	l->is_unsorted = l->is_late = l->has_region = 0;
}

void pp_xline_read(struct pp_xread *x, struct pp_xplane *p, const struct pp_xslice *slice)
{
	const struct pp_xread before = *x;
	struct pp_xline l = {.all = *slice, .at = slice->data, .launches = x->launches.count};

	x->lines++;
	x->launches.opens = 0;
	read_head(x, &l);
	for (;;) {
		(x->glance->is_podprof ? pp_xown_line : read_line)(x, p, &l);
		if (!l.is_late)
			return;
		undo(x, &before, p, &l);
		l.is_whole = 1;
	}
}
