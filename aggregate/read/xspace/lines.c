/* Chooses how a line is read; see lines.h. */
#include "aggregate/read/xspace/lines.h"

#include <stdio.h>
#include <string.h>

#include "aggregate/read/xspace/activity.h"
#include "aggregate/read/xspace/collectives.h"
#include "aggregate/read/xspace/event.h"
#include "aggregate/read/xspace/host.h"
#include "aggregate/read/xspace/kind.h"
#include "aggregate/read/xspace/line.h"
#include "aggregate/read/xspace/meta.h"
#include "aggregate/read/xspace/own.h"
#include "aggregate/read/xspace/plane.h"
#include "core/base/grow.h"

/* An event of a device's line "Steps". */
static void take_step(struct pp_xread *x, struct pp_xplane *p, struct pp_xline *l, const struct pp_field *event)
{
	struct pp_xmark mark = {.group = -1, .number = -1};
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
	if (PP_GROW(x->mark, x->marks, x->marks_room)) {
		x->no_memory = 1;
		return;
	}
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
				series = pp_xmeta_stat(x, p, g.value);
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

static void read_line(struct pp_xread *x, struct pp_xplane *p, struct pp_xline *l)
{
	const enum pp_xline_kind kind = l->kind = pp_xline_kind(p, l);

	l->is_runtime = pp_xkind_is_runtime_thread(l->name);
	pp_xline_events(x, p, l,
	                kind == PP_XLINE_DERIVED    ? pp_xline_derived
	                : kind == PP_XLINE_STEPS    ? take_step
	                : kind == PP_XLINE_HOST     ? pp_xhost_take
	                : kind == PP_XLINE_COUNTERS ? take_counter
	                : kind == PP_XLINE_MODULES  ? pp_xcollectives_module
	                                            : pp_xactivity_take);
	if (!l->is_late)
		pp_xline_finish(x, p, l);
}

int pp_xlines_have_streams(struct pp_xread *x, struct pp_xplane *p)
{
	p->has_streams = 1;
	for (size_t i = 0; i < p->lines; i++) {
		struct pp_xline l = {.all = p->line[i], .at = p->line[i].data};

		pp_xline_head(x, &l);
		if (pp_xline_kind(p, &l) == PP_XLINE_STREAM)
			return 1;
	}
	return 0;
}

/* As if the line was not read. */
static void undo(struct pp_xread *x, const struct pp_xread *before, struct pp_xplane *p, struct pp_xline *l)
{
	x->rank.trace = before->rank.trace;
	x->rank.allocations = before->rank.allocations;
	x->marks = before->marks;
	x->linkeds = before->linkeds;
	x->runs = before->runs;
	x->overlaps = before->overlaps;
	x->collectives = before->collectives;
	x->memories = before->memories;
	x->launches.count = l->launches;
	x->launches.opens = 0;
	pp_xmeta_forget(x, &p->events);
	pp_xmeta_forget(x, &p->stats);
	l->at = l->all.data;
	l->thread.spans = l->region = l->region_link = 0;
	l->thread.kinds = 0;
	l->is_unsorted = l->is_late = l->has_region = 0;
}

void pp_xlines_read(struct pp_xread *x, struct pp_xplane *p, const struct pp_xslice *slice)
{
	const struct pp_xread before = *x;
	struct pp_xline l = {.all = *slice, .at = slice->data, .launches = x->launches.count};

	x->lines++;
	x->launches.opens = 0;
	pp_xline_head(x, &l);
	for (;;) {
		(x->glance->is_podprof ? pp_xown_line : read_line)(x, p, &l);
		if (!l.is_late)
			return;
		undo(x, &before, p, &l);
		l.is_whole = 1;
	}
}
