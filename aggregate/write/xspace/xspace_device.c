/* Writes the planes of devices: a line for each stream and, on one plane, the steps and where their time went. xprof computes a
 * host's steps from its devices alone. Also writes calls of allocators. Called by xspace.c and xspace_rank.c. */
#include "aggregate/write/xspace/xspace_device.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/compare.h"
#include "core/base/utf8.h"
#include "core/capture/capture.h"
#include "core/capture/side.h"
#include "core/capture/thread.h"
#include "core/step/category.h"

enum { MOST_NAME = 100, STATS_MOST = 12 };

#define STEPS_LINE INT64_C(-559038737) /* xprof knows the line of steps by this id */

struct plane {
	size_t rank;     /* index into capture->rank */
	uint32_t device; /* number + 1, in the rank's process */
	uint32_t number; /* in the file */
};

/* Is there no earlier thread of the same device? */
static int is_first(const struct pp_rank *r, size_t thread)
{
	size_t t = 0;

	while (t < thread && r->thread[t].device != r->thread[thread].device)
		t++;
	return r->thread[thread].device && t == thread;
}

size_t pp_xfile_device_count(const struct pp_xfile *f, const size_t *rank, size_t ranks)
{
	size_t count = 0;

	for (size_t i = 0; i < ranks; i++) {
		const struct pp_rank *r = &f->out->capture->rank[rank[i]];

		for (size_t t = 0; t < r->threads; t++)
			count += (size_t)is_first(r, t);
	}
	return count;
}

PP_COMPARE_BY(by_number, struct plane, number)

/* Each process numbers its devices. Where two ranks have one number, the later one's device gets the next free one. */
static void list_planes(const struct pp_xfile *f, const size_t *rank, size_t ranks, struct plane *p)
{
	size_t planes = 0;

	for (size_t i = 0; i < ranks; i++) {
		const struct pp_rank *r = &f->out->capture->rank[rank[i]];

		for (size_t t = 0; t < r->threads; t++) {
			struct plane one = {rank[i], r->thread[t].device, r->thread[t].device - 1};
			size_t at = 0;

			if (!is_first(r, t))
				continue;
			while (at < planes && p[at].number < one.number) /* those so far are in order */
				at++;
			for (; at < planes && p[at].number == one.number; at++)
				one.number++;
			p[planes++] = one;
			qsort(p, planes, sizeof(*p), by_number);
		}
	}
}

static void stats_of_device(struct pp_xfile *f, const struct pp_rank *r, const struct plane *p)
{
	const struct pp_device *d = NULL;
	const struct pp_device_limits *l;

	for (size_t i = 0; i < r->devices && !d; i++)
		if (r->device[i].number + 1 == p->device)
			d = &r->device[i];
	pp_xplane_uint(f, PP_XSTAT_NUMBER, p->device - 1);
	if (!d)
		return;
	l = &d->limits;
	if (!strcmp(d->kind, "GPU"))
		pp_xplane_text(f, PP_XSTAT_VENDOR, "Nvidia"); /* of CUPTI */
	if (d->name[0])
		pp_xplane_text(f, PP_XSTAT_DEVICE_NAME, d->name);
	if (l->capability) {
		pp_xplane_uint(f, PP_XSTAT_CAPABILITY_MAJOR, l->capability >> 16);
		pp_xplane_uint(f, PP_XSTAT_CAPABILITY_MINOR, l->capability & 0xffff);
	}
	if (l->multiprocessors)
		pp_xplane_uint(f, PP_XSTAT_MULTIPROCESSORS, l->multiprocessors);
	if (l->clock_khz)
		pp_xplane_uint(f, PP_XSTAT_CLOCK_RATE, l->clock_khz);
	if (l->bandwidth)
		pp_xplane_uint(f, PP_XSTAT_BANDWIDTH, l->bandwidth);
	if (d->memory)
		pp_xplane_uint(f, PP_XSTAT_MEMORY_SIZE, d->memory);
}

/* Does /kernel of pod.h5 count it? Then it is a kernel in xprof too. */
static int is_counted(const struct pp_xplaced *in)
{
	return in && !pp_xlabel_is_edge(in->label);
}

static void details(struct pp_xfile *f, struct pp_xevent *e, const struct pp_span_device *d, int counts)
{
	switch (d->activity) {
	case PP_DEVICE_KERNEL:
	case PP_DEVICE_COLLECTIVE:
	case PP_DEVICE_WAIT:
	case PP_DEVICE_UNSURE:
		pp_xstat_text(f, e, counts ? PP_XSTAT_KERNEL_DETAILS : PP_XSTAT_LAUNCH, PP_XTEXT_LAUNCH, d->launch);
		break;
	case PP_DEVICE_SET:
		pp_xstat_text(f, e, PP_XSTAT_SET_DETAILS, PP_XTEXT_SIZE, d->bytes);
		break;
	default:
		pp_xstat_text(f, e, PP_XSTAT_COPY_DETAILS, PP_XTEXT_SIZE, d->bytes);
	}
}

static uint64_t category_of(struct pp_xfile *f, const struct pp_span *s)
{
	return (uint64_t)pp_flat_category(pp_flat_code(&f->categories, s));
}

static void write_activity(struct pp_xfile *f, const struct pp_span *s, const struct pp_xplaced *in)
{
	const struct pp_span_device *d = &s->device;
	int64_t begin = pp_xps(s->begin), end = pp_xps(s->end);
	struct pp_xevent e;

	pp_xevent_init(&e, pp_xnames_event(&f->names, PP_XNAME_DEVICE, s->name), begin, end > begin ? end - begin : 0);
	if (in)
		pp_xstat_int(&e, PP_XSTAT_STEP, in->label->number);
	details(f, &e, d, is_counted(in));
	pp_xstat_text(f, &e, PP_XSTAT_CATEGORY, PP_XTEXT_CATEGORY, category_of(f, s));
	if (d->correlation)
		pp_xstat_uint(&e, PP_XSTAT_CORRELATION, d->correlation);
	if (d->correlation && d->host_thread)
		pp_xstat_uint(&e, PP_XSTAT_FLOW, pp_xflow(f->rank->rank, d->correlation, 0));
	if (d->op && is_counted(in))
		pp_xstat_text(f, &e, PP_XSTAT_OP, PP_XTEXT_OP, category_of(f, s) << 32 | d->op);
	pp_xstream_event(&f->stream, &e);
}

static void write_stream(struct pp_xfile *f, const struct pp_thread *t, const struct pp_xplaced *p, size_t steps)
{
	const char *stream = pp_intern_text(f->names.names, t->name, NULL);
	char name[128];
	uint64_t line;
	size_t at = 0;

	snprintf(name, sizeof(name), "rank %d %.*s", f->rank->rank, pp_utf8_fit(stream, MOST_NAME), stream);
	line = pp_xline_begin(f, 0, name);
	for (size_t i = 0; i < t->spans; i++)
		if (t->span[i].kind == PP_SPAN_DEVICE)
			write_activity(f, &t->span[i], pp_xstep_at(p, steps, &at, t->span[i].begin));
	pp_xstream_end(&f->stream, line);
}

static void write_marks(struct pp_xfile *f, const struct pp_xplaced *p, size_t steps)
{
	uint64_t line = pp_xline_begin(f, STEPS_LINE, "Steps");

	for (size_t i = 0; i < steps; i++) {
		const struct pp_xlabel *l = p[i].label;
		int64_t begin = pp_xps(p[i].begin);
		struct pp_xevent e;

		pp_xevent_init(&e, pp_xnames_event(&f->names, PP_XNAME_STEP, (uint64_t)l->number), begin, pp_xps(p[i].end) - begin);
		pp_xstat_step(f, &e, l, 1, 1);
		pp_xstream_event(&f->stream, &e);
	}
	pp_xstream_end(&f->stream, line);
}

/* xprof counts only events with a group and a correlation. */
static void write_segment(struct pp_xfile *f, uint32_t name, const struct pp_xlabel *l, int64_t begin, int64_t end,
                          uint64_t correlation, enum pp_precision precision)
{
	struct pp_xevent e;

	pp_xevent_init(&e, name, begin, end - begin);
	pp_xstat_step(f, &e, l, 1, 0);
	pp_xstat_uint(&e, PP_XSTAT_CORRELATION, correlation);
	pp_xstat_text(f, &e, PP_XSTAT_SHAPE, PP_XTEXT_SHAPE, precision);
	pp_xstream_event(&f->stream, &e);
}

/* Categories that xprof has for what devices do. */
static int is_shown(const struct pp_attr_segment *g, const struct pp_xlabel *l)
{
	if (g->step != l->segment || g->end <= g->begin)
		return 0;
	return g->category == PP_CATEGORY_DEVICE_COMPUTE || g->category == PP_CATEGORY_DEVICE_TO_DEVICE ||
	       g->category == PP_CATEGORY_DEVICE_COLLECTIVE || g->category == PP_CATEGORY_INPUT ||
	       g->category == PP_CATEGORY_OUTPUT;
}

/* Writes the segments of one step. xprof drops a step without device compute: such a step gets 1 ps of it. */
static size_t write_step(struct pp_xfile *f, size_t index, const struct pp_xlabel *l, size_t at)
{
	const struct pp_rank *r = &f->out->capture->rank[index];
	const struct pp_attr *a = &f->out->attr[index];
	const struct pp_step_cell *c = &l->cell[index];
	int64_t from = pp_xps(c->begin);
	size_t end = at;
	int compute = 0;

	for (; end < a->segments && a->segment[end].begin < c->end; end++)
		compute |= is_shown(&a->segment[end], l) && a->segment[end].category == PP_CATEGORY_DEVICE_COMPUTE;
	if (!compute && c->end > c->begin) {
		write_segment(f, pp_xnames_event(&f->names, PP_XNAME_EMPTY_STEP, 1), l, from, from + 1, 0, PP_PRECISION_UNKNOWN);
		from++;
	}
	for (; at < end; at++) {
		const struct pp_attr_segment *g = &a->segment[at];
		const struct pp_span *s = &r->thread[g->thread].span[g->span];
		const struct pp_span_device *d = s->kind == PP_SPAN_DEVICE ? &s->device : NULL;
		int64_t begin = pp_xps(g->begin);

		if (is_shown(g, l))
			write_segment(f, pp_xnames_event(&f->names, PP_XNAME_ON_DEVICE + g->category, pp_xname_key(s)), l,
			              begin < from ? from : begin, pp_xps(g->end), d ? d->correlation : 0,
			              d ? (enum pp_precision)d->precision : PP_PRECISION_UNKNOWN);
	}
	return end;
}

/* The steps that xprof shows, and what has the exclusive time of each moment in them. */
static int write_steps(struct pp_xfile *f, size_t index)
{
	const struct pp_attr *a = &f->out->attr[index];
	size_t steps, at = 0;
	struct pp_xplaced *p = pp_xplace_steps(f, index, &steps);
	char name[64];
	uint64_t line;

	if (!p)
		return -ENOMEM;
	write_marks(f, p, steps);
	snprintf(name, sizeof(name), "rank %d breakdown", f->out->capture->rank[index].rank);
	line = pp_xline_begin(f, 0, name);
	for (size_t i = 0; i < steps; i++) {
		while (at < a->segments && a->segment[at].end <= p[i].begin)
			at++;
		at = write_step(f, index, p[i].label, at);
	}
	pp_xstream_end(&f->stream, line);
	free(p);
	return 0;
}

/* `steps_of`: the rank whose steps this plane shows; SIZE_MAX: another plane does. */
static int write_plane(struct pp_xfile *f, const struct plane *p, size_t steps_of, struct pp_err *err)
{
	const struct pp_rank *r = &f->out->capture->rank[p->rank];
	size_t steps;
	struct pp_xplaced *placed = pp_xplace_steps(f, p->rank, &steps);
	char name[48];
	uint64_t plane;
	int code = 0;

	if (!placed)
		return pp_err_set(err, -ENOMEM, "no memory for the plane of a device");
	snprintf(name, sizeof(name), "/device:GPU:%" PRIu32 "%s", p->number, r->device_replay ? " (replay)" : "");
	plane = pp_xplane_begin(f, p->number, name);
	f->rank = f->names.rank = r;
	if (steps_of != SIZE_MAX && write_steps(f, steps_of))
		code = pp_err_set(err, -ENOMEM, "no memory for the plane of a device");
	for (size_t t = 0; t < r->threads; t++)
		if (r->thread[t].device == p->device)
			write_stream(f, &r->thread[t], placed, steps);
	stats_of_device(f, r, p);
	free(placed);
	return code ? code : pp_xplane_end(f, plane, err);
}

int pp_xfile_devices(struct pp_xfile *f, const size_t *rank, size_t ranks, size_t steps_of, struct pp_err *err)
{
	size_t planes = pp_xfile_device_count(f, rank, ranks), shows = 0;
	struct plane *p = calloc(planes + 1, sizeof(*p));
	int code = 0;

	if (!p)
		return pp_err_set(err, -ENOMEM, "no memory for the planes of devices");
	list_planes(f, rank, ranks, p);
	while (shows < planes && p[shows].rank != steps_of)
		shows++;
	if (shows == planes) /* the rank has no device of its own */
		shows = 0;
	for (size_t i = 0; i < planes && !code; i++)
		code = write_plane(f, &p[i], i == shows ? steps_of : SIZE_MAX, err);
	free(p);
	return code;
}

struct stats {
	struct pp_xstat stat[STATS_MOST];
	size_t count;
};

/* Sizes that are not known are left out. */
static void add(struct stats *s, enum pp_xstat_id id, int64_t value)
{
	if (value >= 0)
		s->stat[s->count++] = (struct pp_xstat){.id = (uint8_t)id, .kind = PP_XSTAT_INT, .i = value};
}

static void add_text(struct pp_xfile *f, struct stats *s, enum pp_xstat_id id, enum pp_xtext_kind kind, uint64_t key)
{
	s->stat[s->count++] = (struct pp_xstat){.id = (uint8_t)id, .kind = PP_XSTAT_REF, .u = pp_xnames_text(&f->names, kind, key)};
}

static void write_allocation(struct pp_xfile *f, const struct pp_allocation *a, const struct pp_xplaced *in)
{
	struct stats s = {.count = 0};
	struct pp_xevent e;

	pp_xevent_init(&e, pp_xnames_event(&f->names, PP_XNAME_ALLOCATION, a->is_free != 0), pp_xps(a->time), 0);
	if (in)
		add(&s, PP_XSTAT_GROUP_ID, in->label->group);
	add_text(f, &s, PP_XSTAT_ALLOCATOR, PP_XTEXT_ALLOCATOR, (uint64_t)(uint32_t)f->rank->rank << 32 | a->allocator);
	s.stat[s.count++] = (struct pp_xstat){.id = PP_XSTAT_ADDRESS, .kind = PP_XSTAT_INT, .u = a->address};
	add(&s, PP_XSTAT_REQUESTED, a->requested);
	add(&s, PP_XSTAT_ALLOCATION, a->bytes);
	add(&s, PP_XSTAT_ALLOCATED, a->allocated);
	add(&s, PP_XSTAT_RESERVED, a->reserved);
	add(&s, PP_XSTAT_AVAILABLE, a->available);
	add(&s, PP_XSTAT_PEAK, a->peak);
	if (a->fragmentation >= 0 && a->fragmentation <= 1)
		s.stat[s.count++] = (struct pp_xstat){.id = PP_XSTAT_FRAGMENTATION, .kind = PP_XSTAT_DOUBLE, .d = a->fragmentation};
	if (a->is_counted)
		add(&s, PP_XSTAT_IS_COUNTED, 1);
	if (a->op)
		add_text(f, &s, PP_XSTAT_OP, PP_XTEXT_ALLOCATES, a->op);
	pp_xstream_long_event(&f->stream, &e, s.stat, s.count);
}

void pp_xfile_allocations(struct pp_xfile *f, const struct pp_rank *r, const struct pp_xplaced *p, size_t steps)
{
	char name[64];
	uint64_t line;
	size_t at = 0;

	if (!r->allocations)
		return;
	snprintf(name, sizeof(name), "rank %d allocators", r->rank);
	line = pp_xline_begin(f, 0, name);
	for (size_t i = 0; i < r->allocations; i++)
		write_allocation(f, &r->allocation[i], pp_xstep_at(p, steps, &at, r->allocation[i].time));
	pp_xstream_end(&f->stream, line);
}
