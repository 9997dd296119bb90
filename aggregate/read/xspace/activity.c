/* Reads events of streams: kernels and copies; see activity.h. */
#include "aggregate/read/xspace/activity.h"

#include <string.h>

#include "aggregate/read/xspace/device.h"
#include "aggregate/read/xspace/event.h"
#include "aggregate/read/xspace/line.h"
#include "aggregate/read/xspace/link.h"
#include "aggregate/read/xspace/plane.h"
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

static uint32_t op_of(struct pp_xread *x, const struct pp_xevent *e, const struct pp_xmeta *m)
{
	uint32_t op = pp_xevent_has(e, PP_XS_OP) ? pp_xvalue_intern(x, &e->text[PP_XS_OP]) : 0;

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

void pp_xactivity_take(struct pp_xread *x, struct pp_xplane *p, struct pp_xline *l, const struct pp_field *event)
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
