/* Finds what a plane has, and what its events are by name; see plane.h. */
#include "aggregate/read/xspace/plane.h"

#include <stdlib.h>
#include <string.h>

#include "aggregate/read/demangle.h"
#include "aggregate/read/xspace/damage.h"
#include "aggregate/read/xspace/value.h"
#include "core/base/grow.h"
#include "core/capture/span.h"
#include "core/ring/record.h"
#include "core/step/category.h"
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
		if (kind == PP_XS_OP || (kind == PP_XS_ANNOTATION && !m->op))
			m->op = pp_xvalue_text(x, &v);
	}
}

static uint8_t is_unknown(const struct pp_xmeta *m)
{
	int by_default;

	pp_category_of_name((const char *)m->text, m->length, &by_default);
	return by_default != 0;
}

/* Python's tracers begin names with a $; C++ of a framework's runtime has namespaces; "scope/name:Type" is an operator. */
static uint8_t origin_of(const struct pp_xmeta *m)
{
	const char *name = (const char *)m->text;

	if (m->length && *name == '$')
		return PP_ORIGIN_PYTHON;
	if (pp_category_operator_type(name, m->length))
		return PP_ORIGIN_OPERATOR;
	return m->length && memmem(name, m->length, "::", 2) ? PP_ORIGIN_LIBRARY : PP_ORIGIN_PROGRAM;
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
	if (p->kind == PP_XPLANE_GPU || p->kind == PP_XPLANE_TPU) {
		m->activity = (uint8_t)pp_kernel_activity(name, length);
		m->precision = (uint8_t)pp_kernel_precision(name, length);
	}
	if (p->kind == PP_XPLANE_HOST) {
		m->is_unknown = is_unknown(m);
		m->origin = origin_of(m);
	}
	if (stats)
		read_event_stats(x, p, m);
}

struct pp_xmeta *pp_xplane_find_event(struct pp_xread *x, struct pp_xplane *p, uint64_t id)
{
	struct pp_xmeta *m = pp_xmeta_find(&p->events, id);

	if (m && !m->is_ready)
		ready(x, p, m);
	return m;
}

enum pp_xplane_kind pp_xplane_kind(const char *name)
{
	static const struct {
		const char *begin;
		enum pp_xplane_kind kind;
		int whole;
	} row[] = {
	        {"/host:CPU", PP_XPLANE_HOST, 0},          {"/device:GPU:", PP_XPLANE_GPU, 0},
	        {"/device:TPU:", PP_XPLANE_TPU, 0},        {"Task Environment", PP_XPLANE_ENVIRONMENT, 1},
	        {"/host:metadata", PP_XPLANE_METADATA, 1},
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
		if (row[i].whole ? !strcmp(name, row[i].begin) : begins(name, strlen(name), row[i].begin))
			return row[i].kind;
	return PP_XPLANE_OTHER;
}

static void take_name(struct pp_xplane *p, const struct pp_field *f)
{
	size_t length = f->size < sizeof(p->name) ? f->size : sizeof(p->name) - 1;

	memcpy(p->name, f->data, length);
	p->name[length] = '\0';
	p->kind = pp_xplane_kind(p->name);
	if (p->kind == PP_XPLANE_GPU || p->kind == PP_XPLANE_TPU)
		p->device = (uint32_t)(strtoul(p->name + strlen("/device:GPU:"), NULL, 10) & 0xffffff);
}

static void add_line(struct pp_xread *x, struct pp_xplane *p, const struct pp_field *f)
{
	if (PP_GROW(p->line, p->lines, p->lines_room)) {
		x->no_memory = 1;
		return;
	}
	p->line[p->lines++] = (struct pp_xslice){f->data, f->size};
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
}

void pp_xplane_close(struct pp_xplane *p)
{
	free(p->line);
	pp_xmeta_release(&p->events);
	pp_xmeta_release(&p->stats);
	*p = (struct pp_xplane){0};
}
