/* Reads events of hosts: ranges, allocations, and what may be a step; see host.h. */
#include "aggregate/read/xspace/host.h"

#include <string.h>

#include "aggregate/read/xspace/collectives.h"
#include "aggregate/read/xspace/event.h"
#include "aggregate/read/xspace/hlo_table.h"
#include "aggregate/read/xspace/iterator.h"
#include "aggregate/read/xspace/kind.h"
#include "aggregate/read/xspace/line.h"
#include "aggregate/read/xspace/link.h"
#include "aggregate/read/xspace/memory.h"
#include "aggregate/read/xspace/plane.h"
#include "core/base/grow.h"
#include "core/step/category.h"

static void link_event(struct pp_xread *x, struct pp_xline *l, const struct pp_xevent *e, int is_consumer, int64_t begin,
                       int64_t end)
{
	if (PP_GROW(x->linked, x->linkeds, x->linkeds_room)) {
		x->no_memory = 1;
		return;
	}
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

/* What a vendor's own plane shows may overlap anything. */
static uint8_t kind_of(const struct pp_xplane *p, const struct pp_xevent *e, int64_t begin, int64_t end)
{
	if (p->kind == PP_XPLANE_CUSTOM || (pp_xevent_has(e, PP_XS_ASYNC) && e->number[PP_XS_ASYNC]))
		return PP_SPAN_ASYNC;
	return end > begin ? PP_SPAN_RANGE : PP_SPAN_MARK;
}

/* Who made a range: stats tell first, then its name, then its thread. */
static void set_origin(struct pp_span *s, const struct pp_xplane *p, const struct pp_xline *l, const struct pp_xevent *e,
                       const struct pp_xmeta *m)
{
	s->range.origin = m->origin;
	if (p->kind == PP_XPLANE_CUSTOM)
		s->range.origin = PP_ORIGIN_LIBRARY;
	else if (pp_xevent_has(e, PP_XS_CORRELATION)) /* with what it launches: also where the operator is known */
		s->range.origin = PP_ORIGIN_RUNTIME;
	else if (pp_xevent_has(e, PP_XS_HLO_OP) || pp_xevent_has(e, PP_XS_OP))
		s->range.origin = PP_ORIGIN_OPERATOR;
	else if (m->origin == PP_ORIGIN_PROGRAM && (l->is_runtime || pp_xevent_has(e, PP_XS_CODE)))
		s->range.origin = PP_ORIGIN_LIBRARY;
}

/* An operation that its program, or its name, says to communicate; and executions of programs. */
static void take_hlo(struct pp_xread *x, const struct pp_xplane *p, const struct pp_xline *l, const struct pp_xevent *e,
                     struct pp_span *s)
{
	const struct pp_xtext *op = &e->text[PP_XS_HLO_OP];
	const uint32_t hlo = pp_xhlo_of_event(x, e);

	if (hlo || (pp_xevent_has(e, PP_XS_HLO_OP) && pp_xkind_hlo_communicates((const char *)op->text, op->length)))
		s->category = PP_CATEGORY_HOST_COMMUNICATION;
	if (hlo && s->kind == PP_SPAN_RANGE)
		pp_xcollectives_take(x, p, l, e, hlo, s->begin, s->end);
	pp_xcollectives_run(x, e, s->begin, s->end);
}

void pp_xhost_take(struct pp_xread *x, struct pp_xplane *p, struct pp_xline *l, const struct pp_field *event)
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
		s->kind = kind_of(p, &e, begin, end);
		set_origin(s, p, l, &e, m);
		take_hlo(x, p, l, &e, s);
		if (m->kind == PP_XEVENT_INPUT)
			s->flags |= PP_SPAN_WAITS_INPUT;
		if (m->kind == PP_XEVENT_ITERATOR || m->kind == PP_XEVENT_ELEMENT)
			pp_xiterator_take(x, p, event, m, &e, s);
		if (pp_xevent_has(&e, PP_XS_CORRELATION))
			s->range.id = e.number[PP_XS_CORRELATION];
		if (m->is_unknown && s->range.id &&
		    pp_xevent_has(&e, PP_XS_KERNEL_DETAILS)) /* old TensorFlow names it like the kernel */
			s->category = PP_CATEGORY_KERNEL_LAUNCH;
	}
	l->thread.kinds |= PP_SPAN_BIT(s->kind);
	if (x->has_device)
		pp_xlink_add(x, l, l->thread.spans - 1);
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
