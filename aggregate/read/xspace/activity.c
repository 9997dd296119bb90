/* Reads events of streams: kernels and copies; see activity.h. */
#include "aggregate/read/xspace/activity.h"

#include <stdio.h>
#include <string.h>

#include "aggregate/read/xspace/collectives.h"
#include "aggregate/read/xspace/device.h"
#include "aggregate/read/xspace/event.h"
#include "aggregate/read/xspace/hlo_table.h"
#include "aggregate/read/xspace/kind.h"
#include "aggregate/read/xspace/line.h"
#include "aggregate/read/xspace/link.h"
#include "aggregate/read/xspace/plane.h"
#include "core/step/classify.h"
#include "core/step/kernel_name.h"

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

/* "module/operation" of XLA: operations of two modules may have one name. */
static uint32_t hlo_op_of(struct pp_xread *x, const struct pp_xevent *e)
{
	const struct pp_xtext *op = &e->text[PP_XS_HLO_OP], *module = &e->text[PP_XS_HLO_MODULE];
	uint32_t of = pp_xevent_has(e, PP_XS_HLO_MODULE) ? pp_xvalue_intern(x, module) : 0;
	char name[512];
	int n;

	if (!of)
		return pp_xvalue_intern(x, op);
	if (op->meta && op->meta->op && op->meta->module == of)
		return op->meta->op;
	n = snprintf(name, sizeof(name), "%.*s/%.*s", (int)(module->length < 200 ? module->length : 200),
	             (const char *)module->text, (int)(op->length < 300 ? op->length : 300), (const char *)op->text);
	of = pp_intern_put(x->names, name, (size_t)n);
	if (op->meta) {
		op->meta->op = of;
		op->meta->module = pp_xvalue_intern(x, module);
	}
	return of;
}

static uint32_t op_of(struct pp_xread *x, const struct pp_xevent *e, const struct pp_xmeta *m)
{
	uint32_t op = pp_xevent_has(e, PP_XS_OP) ? pp_xvalue_intern(x, &e->text[PP_XS_OP]) : 0;

	if (!op && pp_xevent_has(e, PP_XS_HLO_OP) && e->text[PP_XS_HLO_OP].length)
		op = hlo_op_of(x, e);
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

/* XLA's category decides before any name; the event's own before that of its metadata. */
static void set_activity(struct pp_span *s, const struct pp_xevent *e, const struct pp_xmeta *m)
{
	const struct pp_xtext *category = &e->text[PP_XS_HLO_CATEGORY];
	int activity = -1;

	if (pp_xevent_has(e, PP_XS_HLO_CATEGORY))
		activity = pp_xkind_activity((const char *)category->text, category->length);
	s->device.activity = activity >= 0 ? (uint8_t)activity : m->activity;
	s->device.by = activity >= 0 ? PP_BY_KIND : m->by;
}

/* Bytes that a copy moved; of an operation that only moves data those that it read and wrote. */
static uint64_t moved(const struct pp_span *s, const struct pp_xevent *e, const struct pp_xmeta *m)
{
	if (pp_xevent_has(e, PP_XS_COPY_DETAILS))
		return bytes_of(&e->text[PP_XS_COPY_DETAILS]);
	if (s->device.activity == PP_DEVICE_KERNEL)
		return 0;
	return pp_xevent_has(e, PP_XS_BYTES_ACCESSED) && (int64_t)e->number[PP_XS_BYTES_ACCESSED] > 0
	               ? e->number[PP_XS_BYTES_ACCESSED]
	               : m->accessed;
}

/* What its program says of an operation is stronger than the names of its kernels; a copy remains one. */
static void take_collective(struct pp_xread *x, const struct pp_xplane *p, const struct pp_xline *l, const struct pp_xevent *e,
                            uint32_t hlo, struct pp_span *s)
{
	if (s->device.activity == PP_DEVICE_KERNEL || s->device.activity == PP_DEVICE_UNSURE) {
		s->device.activity = PP_DEVICE_COLLECTIVE;
		s->device.by = PP_BY_KIND;
	}
	pp_xcollectives_take(x, p, l, e, hlo, s->begin, s->end);
}

/* What runs beside a core and neither communicates nor copies is shown, but the core's time is not its. */
static void make_async(struct pp_span *s)
{
	memset(&s->device, 0, sizeof(s->device));
	s->kind = PP_SPAN_ASYNC;
	s->range.origin = PP_ORIGIN_OPERATOR;
}

void pp_xactivity_take(struct pp_xread *x, struct pp_xplane *p, struct pp_xline *l, const struct pp_field *event)
{
	static const struct pp_xmeta none = {.kind = PP_XEVENT_PLAIN};
	const struct pp_xmeta *m;
	struct pp_xevent e;
	struct pp_span *s;
	int64_t begin, end;
	uint32_t hlo;

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
	set_activity(s, &e, m);
	if (l->kind == PP_XLINE_ASYNC && s->device.activity == PP_DEVICE_KERNEL && !m->hlo) {
		make_async(s);
		l->thread.kinds |= PP_SPAN_BIT(s->kind);
		return;
	}
	l->thread.kinds |= PP_SPAN_BIT(PP_SPAN_DEVICE);
	s->device.step = pp_xevent_has(&e, PP_XS_GROUP_ID) ? (int64_t)e.number[PP_XS_GROUP_ID] : -1;
	s->device.correlation = pp_xevent_has(&e, PP_XS_CORRELATION) ? e.number[PP_XS_CORRELATION] : 0;
	s->device.bytes = moved(s, &e, m);
	s->device.op = op_of(x, &e, m);
	hlo = x->glance->is_podprof ? 0 : m->hlo ? m->hlo : pp_xhlo_of_event(x, &e);
	if (hlo)
		take_collective(x, p, l, &e, hlo, s);
	if (pp_xevent_has(&e, PP_XS_KERNEL_DETAILS))
		s->device.launch = launch_of(x, &e);
	if (s->device.activity == PP_DEVICE_KERNEL)
		s->device.precision = precision_of(&e, m);
	if (x->launches.is_indexed)
		pp_xlink_tie(x, s);
}
