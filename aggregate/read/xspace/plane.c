/* Finds what a plane has, and what its events are by name; see plane.h. */
#include "aggregate/read/xspace/plane.h"

#include <stdlib.h>
#include <string.h>

#include "aggregate/read/demangle.h"
#include "aggregate/read/xspace/damage.h"
#include "aggregate/read/xspace/hlo_table.h"
#include "aggregate/read/xspace/kind.h"
#include "aggregate/read/xspace/value.h"
#include "core/base/grow.h"
#include "core/capture/span.h"
#include "core/ring/record.h"
#include "core/step/classify.h"
#include "core/step/kernel_name.h"

static int begins(const char *text, size_t length, const char *with)
{
	return length >= strlen(with) && !memcmp(text, with, strlen(with));
}

/* xprof's names of events with a meaning of their own. */
static enum pp_xevent_class class_of(const char *name, size_t length)
{
	static const struct {
		const char *name;
		enum pp_xevent_class class;
		int whole;
	} row[] = {
	        {"MemoryAllocation", PP_XEVENT_ALLOCATION, 1},
	        {"MemoryDeallocation", PP_XEVENT_FREE, 1},
	        {"FunctionRun", PP_XEVENT_IMPLICIT, 1},
	        {"SessionRun", PP_XEVENT_IMPLICIT, 1},
	        {"RunGraph", PP_XEVENT_IMPLICIT, 1},
	        {"RunGraphDone", PP_XEVENT_IMPLICIT, 1},
	        {"ExecutorState::Process", PP_XEVENT_IMPLICIT, 1},
	        {"ThreadpoolListener::StartRegion", PP_XEVENT_REGION_BEGIN, 1},
	        {"ThreadpoolListener::StopRegion", PP_XEVENT_REGION_END, 1},
	        {"IteratorGetNext", PP_XEVENT_INPUT, 0},
	        {"Iterator::", PP_XEVENT_ITERATOR, 0},
	        {"PrefetchProduce", PP_XEVENT_ELEMENT, 1},
	        {"PrefetchConsume", PP_XEVENT_ELEMENT, 1},
	        {"ParallelInterleaveProduce", PP_XEVENT_ELEMENT, 1},
	        {"ParallelInterleaveConsume", PP_XEVENT_ELEMENT, 1},
	        {"ParallelMapProduce", PP_XEVENT_ELEMENT, 1},
	        {"ParallelMapConsume", PP_XEVENT_ELEMENT, 1},
	        {"MapAndBatchProduce", PP_XEVENT_ELEMENT, 1},
	        {"MapAndBatchConsume", PP_XEVENT_ELEMENT, 1},
	        {"ParseExampleProduce", PP_XEVENT_ELEMENT, 1},
	        {"ParseExampleConsume", PP_XEVENT_ELEMENT, 1},
	        {"ParallelBatchProduce", PP_XEVENT_ELEMENT, 1},
	        {"ParallelBatchConsume", PP_XEVENT_ELEMENT, 1},
	        {"ParallelFilterProduce", PP_XEVENT_ELEMENT, 1},
	        {"ParallelFilterConsume", PP_XEVENT_ELEMENT, 1},
	        {"train", PP_XEVENT_MARKER, 0},
	        {"test", PP_XEVENT_MARKER, 0},
	        {"TraceContext", PP_XEVENT_MARKER, 0},
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
		if (begins(name, length, row[i].name) && (!row[i].whole || length == strlen(row[i].name)) &&
		    (row[i].class != PP_XEVENT_MARKER || !memchr(name, '/', length)))
			return row[i].class;
	return PP_XEVENT_PLAIN;
}

static void take_category(struct pp_xmeta *m, int activity)
{
	m->is_by_kind = activity >= 0;
	if (activity < 0)
		return;
	m->activity = (uint8_t)activity;
	m->by = PP_BY_KIND;
}

/* The operator that an event's metadata name: devices that do not repeat it with every event. */
static void read_event_stats(struct pp_xread *x, struct pp_xplane *p, struct pp_xmeta *m)
{
	struct pp_wire w = {m->data, m->data + m->size};
	struct pp_field f;

	while (pp_wire_next(&w, &f) == PP_WIRE_FIELD) {
		struct pp_xvalue v;
		enum pp_xs_kind kind;

		if (!pp_field_is(&f, 5, PP_WIRE_BYTES))
			continue;
		kind = pp_xvalue_read(x, p, &f, &v);
		if (kind == PP_XS_OP || ((kind == PP_XS_ANNOTATION || kind == PP_XS_HLO_OP) && !m->op))
			m->op = pp_xvalue_text(x, &v);
		else if (kind == PP_XS_BYTES_ACCESSED && (int64_t)v.number > 0)
			m->accessed = v.number;
		else if (kind == PP_XS_HLO_CATEGORY && v.is_text)
			take_category(m, pp_xkind_activity((const char *)v.text, v.length));
	}
}

/* Operations of a TPU are named by their text. */
static uint32_t hlo_of(struct pp_xread *x, const struct pp_xplane *p, const struct pp_xmeta *m)
{
	struct pp_wire w = {m->data, m->data + m->size};
	struct pp_field f;

	while (pp_xkind_is_device(p->kind) && !x->glance->is_podprof && pp_wire_next(&w, &f) == PP_WIRE_FIELD)
		if (pp_field_is(&f, 2, PP_WIRE_BYTES))
			return f.size && (*f.data == '%' || *f.data == 'R') ? pp_xhlo_of_text(x, f.data, f.size) : 0;
	return 0;
}

static void ready(struct pp_xread *x, struct pp_xplane *p, struct pp_xmeta *m)
{
	int stats = pp_xmeta_ready(x, p, m, 1);
	char text[PP_DEMANGLED];
	size_t length = p->kind == PP_XPLANE_GPU ? pp_demangle((const char *)m->text, m->length, text) : 0;
	const char *name = length ? text : (const char *)m->text;

	length = length ? length : m->length;
	m->name = length ? pp_intern_put(x->names, name, length) : 0;
	m->kind = (uint8_t)class_of((const char *)m->text, m->length);
	if (pp_xkind_is_device(p->kind)) {
		m->activity = (uint8_t)pp_kernel_activity(name, length);
		m->precision = (uint8_t)pp_kernel_precision(name, length);
	}
	if (p->kind == PP_XPLANE_HOST) {
		m->origin = (uint8_t)pp_xkind_origin((const char *)m->text, m->length);
		m->is_unknown = pp_category_of(m->origin, (const char *)m->text, m->length).by == PP_BY_NOTHING;
	}
	if (stats)
		read_event_stats(x, p, m);
	m->hlo = hlo_of(x, p, m);
	if (m->hlo)
		take_category(m, PP_DEVICE_COLLECTIVE);
}

struct pp_xmeta *pp_xplane_find_event(struct pp_xread *x, struct pp_xplane *p, uint64_t id)
{
	struct pp_xmeta *m = pp_xmeta_find(&p->events, id);

	if (m && !m->is_ready)
		ready(x, p, m);
	return m;
}

static void take_name(struct pp_xplane *p, const struct pp_field *f)
{
	size_t length = f->size < sizeof(p->name) ? f->size : sizeof(p->name) - 1;

	memcpy(p->name, f->data, length);
	p->name[length] = '\0';
	p->kind = pp_xkind_plane(p->name);
	pp_xkind_device(p->name, p->device_kind, sizeof(p->device_kind), &p->device);
}

static void add_line(struct pp_xread *x, struct pp_xplane *p, const struct pp_field *f)
{
	if (PP_GROW(p->line, p->lines, p->lines_room)) {
		x->no_memory = 1;
		return;
	}
	p->line[p->lines++] = (struct pp_xslice){f->data, f->size};
}

/* A vendor's own plane is a device where its events say what ran on one. */
static int has_device_stats(struct pp_xread *x, struct pp_xplane *p)
{
	for (size_t i = 0; i < p->stats.metas; i++) {
		switch (pp_xmeta_stat(x, p, p->stats.meta[i].id)->kind) {
		case PP_XS_KERNEL_DETAILS:
		case PP_XS_COPY_DETAILS:
		case PP_XS_CORRELATION:
		case PP_XS_HLO_OP:
		case PP_XS_HLO_CATEGORY:
			return 1;
		default:
			break;
		}
	}
	return 0;
}

void pp_xplane_open(struct pp_xread *x, struct pp_xplane *p, const struct pp_field *plane)
{
	struct pp_wire w = pp_wire_of(plane);
	enum pp_wire_result r;
	struct pp_field f;
	const uint8_t *at = w.at;

	*p = (struct pp_xplane){.all = {plane->data, plane->size}, .unnamed = pp_intern_put(x->names, "(unnamed)", 9)};
	while ((r = pp_wire_next(&w, &f)) != PP_WIRE_END) {
		if (f.type == PP_WIRE_BYTES && r != PP_WIRE_BAD && f.number == 3)
			add_line(x, p, &f); /* what is there of one that is cut, too */
		if (r != PP_WIRE_FIELD)
			break;
		if (pp_field_is(&f, 2, PP_WIRE_BYTES))
			take_name(p, &f);
		else if (pp_field_is(&f, 4, PP_WIRE_BYTES))
			pp_xmeta_add(x, &p->events, &f);
		else if (pp_field_is(&f, 5, PP_WIRE_BYTES))
			pp_xmeta_add(x, &p->stats, &f);
		at = w.at;
	}
	pp_xdamage_check(x, r, at, "a plane");
	pp_xmeta_index(x, &p->events);
	pp_xmeta_index(x, &p->stats);
	memset(p->kind_of, PP_XS_KINDS, sizeof(p->kind_of));
	for (size_t i = 0; i < p->stats.metas && !p->is_grouped; i++) {
		struct pp_xmeta *m = &p->stats.meta[i];

		if (m->size < 24)
			p->is_grouped = pp_xmeta_stat(x, p, m->id)->kind == PP_XS_GROUP_ID;
	}
	if (p->kind == PP_XPLANE_CUSTOM && has_device_stats(x, p))
		p->kind = PP_XPLANE_GPU;
}

void pp_xplane_close(struct pp_xplane *p)
{
	free(p->line);
	pp_xmeta_release(&p->events);
	pp_xmeta_release(&p->stats);
	*p = (struct pp_xplane){0};
}
