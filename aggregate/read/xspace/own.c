/* Reads the stats that podprof writes with its spans; see own.h. */
#include "aggregate/read/xspace/own.h"

#include <stdlib.h>
#include <string.h>

#include "aggregate/read/xspace/activity.h"
#include "aggregate/read/xspace/event.h"
#include "aggregate/read/xspace/line.h"
#include "aggregate/read/xspace/memory.h"
#include "aggregate/read/xspace/plane.h"
#include "aggregate/read/xspace/steps.h"
#include "core/base/grow.h"
#include "core/call/mpi_call.h"
#include "core/capture/capture.h"
#include "core/capture/side.h"
#include "core/capture/thread.h"
#include "core/ring/record.h"
#include "core/step/category.h"
#include "core/step/classify.h"

enum { NO_CALL = UINT16_MAX };

int32_t pp_xown_rank(const uint8_t *text, size_t length, const uint8_t **ret_rest)
{
	const uint8_t *p = text + 5, *end = text + length;
	int64_t rank = 0;

	if (length < 6 || memcmp(text, "rank ", 5))
		return -1;
	while (p < end && *p >= '0' && *p <= '9' && rank < PP_TRACE_RANKS_MOST)
		rank = 10 * rank + (*p++ - '0');
	if (p == text + 5 || rank >= PP_TRACE_RANKS_MOST)
		return -1;
	*ret_rest = p < end && *p == ' ' ? p + 1 : p;
	return (int32_t)rank;
}

/* Number of the call that has this name; NO_CALL: none. */
static uint16_t call_of(const struct pp_xmeta *m, int has_comm)
{
	if (m->length >= 4 && !memcmp(m->text, "MPI_", 4)) {
		for (unsigned i = 0; i < pp_mpi_call_count(); i++)
			if (strlen(pp_mpi_call_info(i)->name) == m->length &&
			    !memcmp(pp_mpi_call_info(i)->name, m->text, m->length))
				return (uint16_t)i;
		return NO_CALL;
	}
	for (unsigned i = PP_C10D_FIRST; has_comm && i < PP_CALL_NUMBERS; i++)
		if (pp_mpi_call_is_known(i) && strlen(pp_mpi_call_info(i)->name) == m->length &&
		    !memcmp(pp_mpi_call_info(i)->name, m->text, m->length))
			return (uint16_t)i;
	return NO_CALL;
}

/* Stats of a call, of a counter and of both's flags. */
struct own {
	uint64_t has, comm, sent, received, rss, pss, children_rss;
	uint32_t sequence, polls, request;
	int32_t peer;
	uint8_t flags, category;
	double value;
	struct pp_record_message_half out, in; /* messages that it sends and receives */
};

/* 0: no category has this name. */
static uint8_t category_of(const struct pp_xvalue *v)
{
	uint8_t id = PP_CATEGORIES;

	while (id &&
	       (!v->is_text || strlen(pp_category_name(id)) != v->length || memcmp(pp_category_name(id), v->text, v->length) != 0))
		id--;
	return id;
}

static void read_message(enum pp_xs_kind kind, const struct pp_xvalue *v, struct own *o)
{
	struct pp_record_message_half *half = kind == PP_XS_TAG || kind == PP_XS_ORDER ? &o->out : &o->in;

	if (kind == PP_XS_TAG || kind == PP_XS_SOURCE_TAG) {
		half->tag = (int32_t)(v->number & INT32_MAX);
		half->flags |= PP_MESSAGE_TAGGED;
	} else if (kind == PP_XS_ORDER || kind == PP_XS_SOURCE_ORDER) {
		half->order = (uint32_t)v->number;
		half->flags |= PP_MESSAGE_CERTAIN;
	} else if (kind == PP_XS_SOURCE) {
		half->peer = (int32_t)(v->number & INT32_MAX);
	}
}

static void read_own(struct pp_xread *x, struct pp_xplane *p, const struct pp_field *event, struct own *o)
{
	struct pp_wire w = pp_wire_of(event);
	struct pp_field f;

	*o = (struct own){.peer = -1, .in.peer = -1};
	while (pp_wire_next(&w, &f) == PP_WIRE_FIELD) {
		struct pp_xvalue v = {.is_text = 0};
		enum pp_xs_kind kind = PP_XS_NONE;
		char text[24] = "";

		if (pp_field_is(&f, 4, PP_WIRE_BYTES))
			kind = pp_xvalue_read(x, p, &f, &v);
		o->has |= PP_XS_BIT(kind);
		if (kind == PP_XS_COMM || kind == PP_XS_CUT)
			memcpy(text, v.text, v.is_text && v.length < sizeof(text) ? v.length : 0);
		if (kind == PP_XS_COMM)
			o->comm = strtoull(text, NULL, 16);
		else if (kind == PP_XS_BYTES)
			o->sent = v.number;
		else if (kind == PP_XS_RECEIVED)
			o->received = v.number;
		else if (kind == PP_XS_SEQUENCE)
			o->sequence = (uint32_t)v.number;
		else if (kind == PP_XS_POLLS)
			o->polls = (uint32_t)v.number;
		else if (kind == PP_XS_PEER)
			o->peer = (int32_t)(v.number & INT32_MAX);
		else if (kind == PP_XS_REQUEST)
			o->request = (uint32_t)v.number;
		else if (kind == PP_XS_CUT)
			o->flags = (uint8_t)((strstr(text, "begin") ? PP_SPAN_CUT_BEGIN : 0) |
			                     (strstr(text, "end") ? PP_SPAN_CUT_END : 0));
		else if (kind == PP_XS_CATEGORY)
			o->category = category_of(&v);
		else if (kind == PP_XS_VALUE)
			o->value = v.real;
		else if (kind == PP_XS_RSS)
			o->rss = v.number;
		else if (kind == PP_XS_PSS)
			o->pss = v.number;
		else if (kind == PP_XS_CHILDREN_RSS)
			o->children_rss = v.number;
		else
			read_message(kind, &v, o);
	}
}

/* An event with many stats has no room for its category. */
static uint8_t category_of_call(uint16_t call)
{
	switch (pp_mpi_call_info(call)->class) {
	case PP_MPI_READ:
	case PP_MPI_READ_ALL:
		return PP_CATEGORY_INPUT;
	case PP_MPI_WRITE:
	case PP_MPI_WRITE_ALL:
		return PP_CATEGORY_OUTPUT;
	default:
		return 0;
	}
}

static void fill_call(struct pp_span *s, const struct own *o, uint16_t call)
{
	s->category = o->category ? o->category : category_of_call(call);
	s->mpi.call = call;
	s->mpi.comm = o->comm;
	s->mpi.sent = o->sent;
	s->mpi.received = o->received;
	s->mpi.sequence = o->has & PP_XS_BIT(PP_XS_POLLS) ? o->polls : o->sequence;
	s->mpi.peer = o->peer;
	s->mpi.request = o->request;
	if (o->has & PP_XS_BIT(PP_XS_POLLS))
		s->flags |= PP_SPAN_POLLS;
}

/* Kept by the file until its ranks are known: `sequence` is the index + 1 there, then in the rank. */
static void put_message(struct pp_xread *x, struct pp_span *s, const struct own *o)
{
	struct pp_span_message m = {.sent = o->out, .received = o->in};

	if (!((m.sent.flags | m.received.flags) & PP_MESSAGE_TAGGED) || (s->flags & PP_SPAN_POLLS) ||
	    pp_mpi_class_joins(pp_mpi_call_info(s->mpi.call)->class))
		return;
	m.sent.peer = o->peer;
	if (m.received.peer < 0)
		m.received.peer = o->peer;
	if (PP_GROW(x->message, x->messages, x->messages_room)) {
		x->no_memory = 1;
		return;
	}
	x->message[x->messages++] = m;
	s->mpi.sequence = (uint32_t)x->messages;
	s->mpi.flags = PP_MPI_HAS_MESSAGE;
}

static int is_step_name(const struct pp_xmeta *m)
{
	return m->length > 5 && !memcmp(m->text, "step ", 5) && pp_xline_number(m->text, m->length) >= 0;
}

static void take_thread(struct pp_xread *x, struct pp_xplane *p, struct pp_xline *l, const struct pp_field *event)
{
	const struct pp_xmeta *m;
	struct pp_xevent e;
	struct pp_span *s;
	struct own o;
	int64_t begin, end;
	uint16_t call;

	x->rank.trace.events++;
	if (!pp_xevent_read(x, p, l, event, &e, &begin, &end) || !(m = pp_xplane_event(x, p, e.metadata)) ||
	    !(s = pp_xline_span(x, l, begin, end)))
		return;
	read_own(x, p, event, &o);
	s->name = m->name;
	s->flags = o.flags;
	call = call_of(m, (o.has & PP_XS_BIT(PP_XS_COMM)) != 0);
	if (call != NO_CALL) {
		s->kind = PP_SPAN_MPI;
		fill_call(s, &o, call);
		put_message(x, s, &o);
	} else {
		s->kind = end > begin ? PP_SPAN_RANGE : PP_SPAN_MARK;
		s->category = o.category;
		if (pp_xevent_has(&e, PP_XS_CORRELATION)) /* a call that made a device do something */
			s->range.id = e.number[PP_XS_CORRELATION];
		if (is_step_name(m) && !(o.has & PP_XS_BIT(PP_XS_STEP)))
			s->flags |= PP_XS_MAY_BE_STEP;
	}
	l->thread.kinds |= PP_SPAN_BIT(s->kind);
}

/* What xprof's names of events do not tell of a device's work is in its category, and in which details it has. */
static void take_activity(struct pp_xread *x, struct pp_xplane *p, struct pp_xline *l, const struct pp_field *event)
{
	size_t before = l->thread.spans, length;
	struct pp_span *s;
	struct pp_kernel_kind kind;
	const char *name;
	struct own o;

	pp_xactivity_take(x, p, l, event);
	if (l->thread.spans == before)
		return;
	s = &l->thread.span[before];
	s->device.step = -1;
	read_own(x, p, event, &o);
	if (!(o.has & PP_XS_BIT(PP_XS_KERNEL_DETAILS)))
		return;
	name = pp_intern_text(x->names, s->name, &length);
	kind = pp_kernel_cached(&x->kernels, s->name, name, length);
	s->device.activity = o.category == PP_CATEGORY_OTHER               ? PP_DEVICE_UNSURE
	                     : o.category != PP_CATEGORY_DEVICE_COLLECTIVE ? PP_DEVICE_KERNEL
	                     : kind.activity == PP_DEVICE_WAIT             ? PP_DEVICE_WAIT
	                                                                   : PP_DEVICE_COLLECTIVE;
	s->device.by = s->device.activity == PP_DEVICE_KERNEL   ? PP_BY_KIND
	               : s->device.activity == PP_DEVICE_UNSURE ? PP_BY_NOTHING
	               : kind.activity == s->device.activity    ? PP_BY_NAME
	                                                        : PP_BY_LAUNCH;
	s->device.precision = kind.precision;
}

/* A call of an allocator; a thread may have the name of their line. */
static void take_allocation(struct pp_xread *x, struct pp_xplane *p, struct pp_xline *l, const struct pp_field *event)
{
	const struct pp_xmeta *m;
	struct pp_allocation *a;
	struct pp_xevent e;
	int64_t begin, end;
	struct own o;

	read_own(x, p, event, &o);
	m = pp_xevent_read(x, p, l, event, &e, &begin, &end) ? pp_xplane_event(x, p, e.metadata) : NULL;
	if (!m || !pp_xevent_has(&e, PP_XS_ALLOCATOR)) {
		take_thread(x, p, l, event);
		return;
	}
	x->rank.trace.events++;
	pp_xmemory_take(x, p, event, begin, m->kind == PP_XEVENT_FREE);
	if (x->no_memory)
		return;
	a = &x->rank.allocation[x->rank.allocations - 1];
	a->step = -1; /* found by its time, as in the live session */
	a->is_counted = (o.has & PP_XS_BIT(PP_XS_IS_COUNTED)) != 0;
}

/* Requests and async ranges, on lines of their own because they overlap. */
static void take_loose(struct pp_xread *x, struct pp_xplane *p, struct pp_xline *l, const struct pp_field *event)
{
	size_t before = l->thread.spans;
	struct pp_span *s;

	take_thread(x, p, l, event);
	if (l->thread.spans == before)
		return;
	s = &l->thread.span[before];
	s->flags &= (uint8_t)~PP_XS_MAY_BE_STEP;
	s->kind = s->kind == PP_SPAN_MPI ? PP_SPAN_REQUEST : PP_SPAN_ASYNC;
	l->thread.kinds |= PP_SPAN_BIT(s->kind);
}

/* Steps of a rank, but those beside the window, which no table has; segments are made from the other lines. */
static void take_breakdown(struct pp_xread *x, struct pp_xplane *p, struct pp_xline *l, const struct pp_field *event)
{
	struct pp_xmark mark = {.group = -1};
	const struct pp_xmeta *m;
	struct pp_xevent e;
	const uint8_t *rest;

	if (!pp_xevent_read(x, p, l, event, &e, &mark.begin, &mark.end))
		return;
	m = pp_xplane_event(x, p, e.metadata);
	if (!m || pp_xevent_has(&e, PP_XS_CATEGORY) || pp_xevent_has(&e, PP_XS_EDGE) || !is_step_name(m)) {
		x->rank.trace.derived++;
		return;
	}
	x->rank.trace.events++;
	mark.group = pp_xown_rank(l->text, l->length, &rest);
	mark.number = pp_xline_number(m->text, m->length);
	if (PP_GROW(x->mark, x->marks, x->marks_room)) {
		x->no_memory = 1;
		return;
	}
	x->mark[x->marks++] = mark;
}

/* A counter of a range, or the memory of a rank. */
static void take_counter(struct pp_xread *x, struct pp_xplane *p, struct pp_xline *l, const struct pp_field *event)
{
	const struct pp_xmeta *m;
	struct pp_xevent e;
	int64_t begin, end;
	const uint8_t *rest;
	struct pp_span *s;
	struct own o;
	int32_t rank;

	x->rank.trace.events++;
	if (!pp_xevent_read(x, p, l, event, &e, &begin, &end) || !(m = pp_xplane_event(x, p, e.metadata)))
		return;
	rank = pp_xown_rank(m->text, m->length, &rest);
	read_own(x, p, event, &o);
	if (o.has & PP_XS_BIT(PP_XS_RSS)) {
		if (PP_GROW(x->memory, x->memories, x->memories_room)) {
			x->no_memory = 1;
			return;
		}
		x->memory[x->memories++] = (struct pp_xmemory){{.time = begin,
		                                                .rss_bytes = o.rss,
		                                                .pss_bytes = o.pss,
		                                                .pss_present = (o.has & PP_XS_BIT(PP_XS_PSS)) != 0,
		                                                .children_rss_bytes = o.children_rss},
		                                               rank};
		return;
	}
	s = rank < 0 ? NULL : pp_xline_span(x, l, begin, begin);
	if (!s)
		return;
	l->id = rank;
	s->kind = PP_SPAN_COUNTER;
	s->name = pp_intern_put(x->names, (const char *)rest, (size_t)(m->text + m->length - rest));
	s->value = o.value;
	l->thread.kinds |= PP_SPAN_BIT(PP_SPAN_COUNTER);
}

void pp_xown_line(struct pp_xread *x, struct pp_xplane *p, struct pp_xline *l)
{
	const uint8_t *rest = l->text;
	int32_t rank = l->length ? pp_xown_rank(l->text, l->length, &rest) : -1;
	size_t before = x->rank.threads, length = l->length ? (size_t)(l->text + l->length - rest) : 0;

	if (length == 9 && !memcmp(rest, "breakdown", 9)) {
		pp_xline_events(x, p, l, take_breakdown);
		return;
	}
	if (p->kind == PP_XPLANE_GPU && !strcmp(l->name, "Steps")) {
		pp_xline_events(x, p, l, pp_xline_derived);
		return;
	}
	if (p->kind == PP_XPLANE_GPU) {
		pp_xline_events(x, p, l, take_activity);
		l->id = length > 7 && !memcmp(rest, "stream ", 7) ? (int64_t)strtoul(l->name + (rest - l->text) + 7, NULL, 10) : 0;
	} else if (length == 10 && !memcmp(rest, "allocators", 10)) {
		pp_xline_events(x, p, l, take_allocation);
	} else if (!strcmp(l->name, "_counters_")) {
		pp_xline_events(x, p, l, take_counter);
		rank = l->id < PP_TRACE_RANKS_MOST ? (int32_t)l->id : -1;
	} else {
		int is_loose = (length >= 8 && !memcmp(rest, "requests", 8)) || (length >= 5 && !memcmp(rest, "async", 5));

		pp_xline_events(x, p, l, is_loose ? take_loose : take_thread);
	}
	if (l->is_late)
		return;
	if (rank < 0)
		rank = x->options->rank;
	memmove(l->name, l->name + (rest - l->text), length + 1); /* a name may have bytes of 0 */
	l->text = rest;
	l->length = length;
	pp_xline_finish(x, p, l);
	if (x->rank.threads == before)
		return;
	if (PP_GROW(x->thread_rank, before, x->thread_ranks_room)) {
		x->no_memory = 1;
		return;
	}
	x->thread_rank[before] = rank;
}
