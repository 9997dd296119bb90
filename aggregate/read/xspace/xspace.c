/* Reads an XSpace file plane by plane; see xspace.h. Called by aggregate/read/trace.c. */
#include "aggregate/read/xspace/xspace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/read/communication.h"
#include "aggregate/read/ring/rings.h"
#include "aggregate/read/xspace/collectives.h"
#include "aggregate/read/xspace/damage.h"
#include "aggregate/read/xspace/device.h"
#include "aggregate/read/xspace/hlo_table.h"
#include "aggregate/read/xspace/kind.h"
#include "aggregate/read/xspace/lines.h"
#include "aggregate/read/xspace/link.h"
#include "aggregate/read/xspace/own_split.h"
#include "aggregate/read/xspace/plane.h"
#include "aggregate/read/xspace/state.h"
#include "aggregate/read/xspace/steps.h"
#include "aggregate/read/xspace/value.h"
#include "aggregate/read/xspace/window.h"
#include "core/base/compare.h"
#include "core/base/file_name.h"
#include "core/base/utf8.h"
#include "core/capture/thread.h"

enum { SPACE_PLANES = 1, SPACE_ERRORS = 2, SPACE_WARNINGS = 3, SPACE_HOSTNAMES = 4, NAME_BYTES = 256 };

/* Line times of three years and more are Unix times: writers should count from the start of the profile, and some do not. */
#define UNIX_TIME INT64_C(100000000000000000)

#define FAR_NS ((int64_t)1 << 54)

static void copy_host(struct pp_xread *x, const uint8_t *text, size_t length)
{
	char good[3 * NAME_BYTES] = "";

	if (!length || length >= NAME_BYTES)
		return;
	pp_utf8_repair(good, (const char *)text, length);
	snprintf(x->rank.host, sizeof(x->rank.host), "%.*s", pp_utf8_fit(good, (int)sizeof(x->rank.host) - 1), good);
	x->rank.trace.says_host = 1;
}

static void copy_remark(struct pp_xread *x, const struct pp_field *f)
{
	char good[3 * PP_REMARK_TEXT] = "";

	if (x->glance->is_podprof && memmem(f->data, f->size, PP_XSPACE_STEPS_OF, strlen(PP_XSPACE_STEPS_OF)))
		return;
	pp_utf8_repair(good, (const char *)f->data, f->size < PP_REMARK_TEXT - 1 ? f->size : PP_REMARK_TEXT - 1);
	good[pp_utf8_fit(good, PP_REMARK_TEXT - 1)] = '\0';
	pp_remark_add(x->rank.remark, &x->rank.remarks, good);
}

/* Stats of the planes that say when and by whom the file was made. */
static void read_stats(struct pp_xread *x, struct pp_xplane *p)
{
	struct pp_wire w = {p->all.data, p->all.data + p->all.size};
	struct pp_field f;

	while (pp_wire_next(&w, &f) == PP_WIRE_FIELD) {
		struct pp_xvalue v = {.is_text = 0};
		enum pp_xs_kind kind = PP_XS_NONE;

		if (pp_field_is(&f, 6, PP_WIRE_BYTES))
			kind = pp_xvalue_read(x, p, &f, &v);
		if (kind == PP_XS_START_TIME && v.number < INT64_MAX / 2)
			x->start_time = v.number;
		if (kind == PP_XS_CLOCK_BOUND && (int64_t)v.number >= 0)
			x->rank.trace.clock_bound_ns = (int64_t)v.number;
		if (kind == PP_XS_JAX_VERSION && v.is_text && v.length < 32) {
			char good[3 * 32] = "";

			pp_utf8_repair(good, (const char *)v.text, v.length);
			snprintf(x->rank.trace.producer, sizeof(x->rank.trace.producer), "JAX %.40s", good);
		}
	}
}

/* Lines that no rule knows: reported with their number. */
static void pass_over(struct pp_xread *x, const struct pp_xplane *p)
{
	char good[3 * sizeof(p->name)] = "", text[PP_REMARK_TEXT];

	if (!p->lines)
		return;
	pp_utf8_repair(good, p->name, strlen(p->name));
	snprintf(text, sizeof(text), "plane '%.*s' (%zu lines) is of an unknown kind and was not read", pp_utf8_fit(good, 60), good,
	         p->lines);
	pp_remark_add(x->rank.remark, &x->rank.remarks, text);
}

static void read_plane(struct pp_xread *x, const struct pp_field *f)
{
	struct pp_xplane p;

	pp_xplane_open(x, &p, f);
	x->keeps_links = x->has_gpu && !p.is_grouped;
	if (pp_xkind_is_device(p.kind)) {
		pp_xdevice_add(x, &p);
		p.has_streams = pp_xlines_have_streams(x, &p);
	}
	if (p.kind == PP_XPLANE_ENVIRONMENT || p.kind == PP_XPLANE_METADATA || x->glance->is_podprof)
		read_stats(x, &p);
	if (p.kind == PP_XPLANE_METADATA && !x->glance->is_podprof)
		pp_xhlo_programs(x, &p);
	if (p.kind == PP_XPLANE_ENVIRONMENT || p.kind == PP_XPLANE_METADATA)
		; /* no lines */
	else if (p.kind == PP_XPLANE_OTHER)
		pass_over(x, &p);
	else
		for (size_t i = 0; i < p.lines && !x->no_memory; i++)
			pp_xlines_read(x, &p, &p.line[i]);
	if (p.kind == PP_XPLANE_HOST && x->hosts && !--x->hosts && !x->has_unnamed)
		pp_xlink_index(x);
	pp_xplane_close(&p);
}

/* The kind of a plane by its name, which comes first in it. Returns 0 where it does not. */
static int kind_by_name(const struct pp_field *plane, enum pp_xplane_kind *ret_kind)
{
	struct pp_wire w = pp_wire_of(plane);
	char name[128] = "";
	struct pp_field f;

	*ret_kind = PP_XPLANE_OTHER;
	while (pp_wire_next(&w, &f) == PP_WIRE_FIELD && f.number < 3)
		if (pp_field_is(&f, 2, PP_WIRE_BYTES)) {
			memcpy(name, f.data, f.size < sizeof(name) ? f.size : sizeof(name) - 1);
			*ret_kind = pp_xkind_plane(name);
			return 1;
		}
	return 0;
}

static int is_metadata(const struct pp_field *plane)
{
	enum pp_xplane_kind kind;

	return kind_by_name(plane, &kind) && kind == PP_XPLANE_METADATA;
}

/* Which planes there are. */
static void survey(struct pp_xread *x, const struct pp_field *plane, int is_whole)
{
	enum pp_xplane_kind kind;
	const int is_named = kind_by_name(plane, &kind);

	if (kind == PP_XPLANE_METADATA && is_whole) /* which says what events are */
		read_plane(x, plane);
	x->has_unnamed |= !is_named;
	x->hosts += kind == PP_XPLANE_HOST;
	x->has_gpu |= kind == PP_XPLANE_GPU;
	x->has_device |= pp_xkind_is_device(kind) || kind == PP_XPLANE_CUSTOM || !is_named;
}

static void read_space(struct pp_xread *x)
{
	struct pp_wire w = {x->source.bytes, x->source.bytes + x->source.size}, first = w;
	enum pp_wire_result r;
	const uint8_t *at = w.at;
	struct pp_field f;

	while ((r = pp_wire_next(&first, &f)) == PP_WIRE_FIELD || r == PP_WIRE_CUT)
		if (pp_field_is(&f, SPACE_PLANES, PP_WIRE_BYTES))
			survey(x, &f, r == PP_WIRE_FIELD);
	while ((r = pp_wire_next(&w, &f)) != PP_WIRE_END) {
		if (r == PP_WIRE_CUT) {
			pp_xdamage_add(x, w.end, "the file ends in the middle of a plane");
			x->is_cut = 1;
		} else if (r == PP_WIRE_BAD) {
			pp_xdamage_check(x, r, at, "the file");
		}
		if (f.type == PP_WIRE_BYTES && f.number == SPACE_PLANES && !(r == PP_WIRE_FIELD && is_metadata(&f)))
			read_plane(x, &f);
		if (r != PP_WIRE_FIELD)
			break;
		if (pp_field_is(&f, SPACE_HOSTNAMES, PP_WIRE_BYTES))
			copy_host(x, f.data, f.size);
		else if (f.type == PP_WIRE_BYTES && (f.number == SPACE_ERRORS || f.number == SPACE_WARNINGS))
			copy_remark(x, &f);
		at = w.at;
		pp_xsource_progress(&x->source, x->options, at);
	}
}

/* Half a year: a session is shorter. */
static int is_far(int64_t time, int64_t middle)
{
	int64_t distance;

	return __builtin_sub_overflow(time, middle, &distance) || distance > FAR_NS || distance < -FAR_NS;
}

/* Marks, allocations and links at times of lines that are left out. */
static void drop_far_rest(struct pp_xread *x, int64_t middle)
{
	size_t marks = 0, allocations = 0, linkeds = 0;

	for (size_t i = 0; i < x->marks; i++)
		if (!is_far(x->mark[i].begin, middle))
			x->mark[marks++] = x->mark[i];
	for (size_t i = 0; i < x->rank.allocations; i++)
		if (!is_far(x->rank.allocation[i].time, middle))
			x->rank.allocation[allocations++] = x->rank.allocation[i];
	for (size_t i = 0; i < x->linkeds; i++)
		if (!is_far(x->linked[i].begin, middle))
			x->linked[linkeds++] = x->linked[i];
	x->rank.trace.untimed += x->marks - marks + x->rank.allocations - allocations;
	x->marks = marks;
	x->rank.allocations = allocations;
	x->linkeds = linkeds;
}

/* A line without a timestamp among lines with dates cannot be placed: leaves out lines that are far from the one with most events.
 * Their spans stay where they are, because launches point to them. */
static void drop_far(struct pp_xread *x)
{
	const struct pp_thread *most = NULL;
	char text[PP_REMARK_TEXT];
	struct pp_rank *r = &x->rank;
	size_t lines = 0;
	int64_t middle;

	for (size_t t = 0; t < r->threads; t++)
		if (r->thread[t].spans && (!most || r->thread[t].spans > most->spans))
			most = &r->thread[t];
	if (!most)
		return;
	middle = most->first;
	for (size_t i = 0; i < r->threads; i++) {
		struct pp_thread *t = &r->thread[i];

		if (!t->spans || !is_far(t->first, middle))
			continue;
		lines++;
		r->trace.untimed += t->spans;
		t->spans = 0;
		t->kinds = 0;
		t->first = t->last = middle;
	}
	drop_far_rest(x, middle);
	if (!lines)
		return;
	snprintf(text, sizeof(text),
	         "%zu line%s left out: %s times are half a year or more from those of the line with most events", lines,
	         lines == 1 ? " was" : "s were", lines == 1 ? "its" : "their");
	pp_remark_add(r->remark, &r->remarks, text);
}

PP_COMPARE(by_time, struct pp_allocation *const, PP_ORDER((*x)->time, (*y)->time) ?: PP_ORDER(*x, *y)) /* as they lie in the file */

static int order_allocations(struct pp_rank *r)
{
	struct pp_allocation **order, *sorted;
	size_t i = 1;

	while (i < r->allocations && r->allocation[i - 1].time <= r->allocation[i].time)
		i++;
	if (i >= r->allocations)
		return 0;
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers */
	order = malloc(r->allocations * sizeof(*order));
	sorted = malloc(r->allocations * sizeof(*sorted));
	for (i = 0; order && sorted && i < r->allocations; i++)
		order[i] = &r->allocation[i];
	if (order && sorted) {
		/* NOLINTNEXTLINE(bugprone-sizeof-expression): the same */
		qsort(order, r->allocations, sizeof(*order), by_time);
		for (i = 0; i < r->allocations; i++)
			sorted[i] = *order[i];
		free(r->allocation);
		r->allocation = sorted;
		sorted = NULL;
	}
	free(order);
	i = sorted == NULL;
	free(sorted);
	return i ? 0 : -1;
}

/* First and last time of the rank; times since 1970 become times since the first. */
static void finalise_times(struct pp_xread *x)
{
	struct pp_rank *r = &x->rank;
	int64_t first = INT64_MAX, last = INT64_MIN;

	for (size_t t = 0; t < r->threads; t++) {
		first = r->thread[t].first < first ? r->thread[t].first : first;
		last = r->thread[t].last > last ? r->thread[t].last : last;
	}
	first = x->from != INT64_MIN && x->from < first ? x->from : first;
	last = x->to != INT64_MAX && x->to > last ? x->to : last;
	if (first == INT64_MAX)
		first = 0;
	if (first >= UNIX_TIME) {
		int64_t base =
		        x->start_time >= (uint64_t)UNIX_TIME && x->start_time <= (uint64_t)first ? (int64_t)x->start_time : first;

		pp_rank_shift(r, -base);
		x->start_time = (uint64_t)base;
		first -= base;
		last = last > INT64_MIN ? last - base : last;
	}
	r->recorded_from = r->open_tick = first;
	r->recorded_to = last;
}

/* The thread that marks steps; else the program's by its name; else the one that was seen longest. */
static void find_main(struct pp_rank *r, const struct pp_intern *names)
{
	size_t best = SIZE_MAX;
	int best_rank = -1;

	for (size_t t = 0; t < r->threads; t++) {
		const struct pp_thread *h = &r->thread[t];
		const char *name = pp_intern_text(names, h->name, NULL);
		int marks = (h->kinds & PP_SPAN_BIT(PP_SPAN_STEP)) != 0;
		int own_rank = 2 * marks + (strstr(name, "main") || !strncmp(name, "python", 6));

		if (h->device || !(h->kinds & ~PP_SPAN_BIT(PP_SPAN_STEP)))
			continue;
		if (own_rank > best_rank ||
		    (own_rank == best_rank && h->last - h->first > r->thread[best].last - r->thread[best].first)) {
			best = t;
			best_rank = own_rank;
		}
	}
	if (best != SIZE_MAX)
		r->thread[best].is_main = 1;
}

/* podprof names the files of ranks "host-rank0003", and their hosts with them: viewers want a name each. */
static void drop_rank(char *host)
{
	char *at = strrchr(host, '-');

	if (at && at > host && !strncmp(at, "-rank", 5) && strlen(at) >= 9 && strspn(at + 5, "0123456789") == strlen(at + 5))
		*at = '\0';
}

static void remark_overlaps(struct pp_xread *x)
{
	char text[PP_REMARK_TEXT];

	if (!x->overlaps)
		return;
	snprintf(text, sizeof(text), "%" PRIu64 " kernels, copies or sets overlap the one before them on their stream",
	         x->overlaps);
	pp_remark_add(x->rank.remark, &x->rank.remarks, text);
}

/* What a viewer has named a host is its name where the file has none. */
static void describe(struct pp_xread *x)
{
	const char *name = pp_file_name(x->path);
	struct pp_rank *r = &x->rank;
	char good[3 * NAME_BYTES] = "";

	pp_utf8_repair(good, name, strnlen(name, NAME_BYTES - 1));
	snprintf(r->trace.file, sizeof(r->trace.file), "%.*s", pp_utf8_fit(good, (int)sizeof(r->trace.file) - 1), good);
	snprintf(r->trace.format, sizeof(r->trace.format), "XSpace");
	if (x->glance->is_podprof)
		snprintf(r->trace.producer, sizeof(r->trace.producer), "podprof");
	r->trace.bytes = x->source.file_bytes;
	if (!r->host[0])
		snprintf(r->host, sizeof(r->host), "%s", x->glance->host);
	if (x->glance->is_podprof)
		drop_rank(r->host);
	snprintf(r->status, sizeof(r->status), "delivered");
	r->rank = x->options->rank;
	r->size = x->glance->world > r->rank ? x->glance->world : r->rank + 1;
	r->records = r->trace.events;
	r->horizon = INT64_MIN;
}

static void init(struct pp_xread *x)
{
	x->names = pp_intern_new();
	x->no_memory = !x->names;
	x->rank.last_step = INT64_MIN;
	x->rank.horizon = INT64_MIN;
	x->rank.trace.clock_bound_ns = -1;
	x->from = INT64_MIN;
	x->to = INT64_MAX;
	x->rank.trace.resolution_ns = 1; /* lines in ns, events in ps */
}

static void release(struct pp_xread *x)
{
	pp_xsource_close(&x->source);
	x->launch.launch = NULL; /* the rank's */
	pp_launch_release(&x->launch);
	pp_kernel_cache_release(&x->kernels);
	free(x->mark);
	free(x->linked);
	free(x->launches.list);
	free(x->launches.open);
	free(x->launches.place);
	free(x->thread_rank);
	free(x->message);
	free(x->memory);
	free(x->iterators.place);
	pp_xhlo_release(x);
}

/* Reads all, and finalises what only the whole file tells. */
static void read_all(struct pp_xread *x, struct pp_capture *c)
{
	read_space(x);
	if (x->source.damage[0])
		pp_xdamage_add(x, x->source.bytes + x->source.size, x->source.damage);
	if (!x->glance->is_podprof)
		drop_far(x);
	if (!x->no_memory && !x->glance->is_podprof)
		pp_xsteps_find(x);
	if (!x->no_memory && !x->glance->is_podprof)
		pp_xwindow_find(x);
	if (!x->no_memory && !x->glance->is_podprof)
		pp_xcollectives_finish(x);
	remark_overlaps(x);
	describe(x);
	finalise_times(x);
	x->no_memory |= order_allocations(&x->rank) != 0;
	c->rank[0] = x->rank;
	c->ranks = 1;
	c->names = x->names;
	c->epoch_realtime_ns = (int64_t)x->start_time;
	if (x->glance->is_podprof && !x->no_memory)
		pp_xown_split(x, c);
	for (size_t i = 0; i < c->ranks; i++) {
		if (!x->glance->is_podprof && !x->no_memory) /* whose spans have this already */
			x->no_memory |= pp_communication_find(&c->rank[i], c->names) != 0;
		find_main(&c->rank[i], c->names);
		if (c->rank[i].size > c->ranks_asked)
			c->ranks_asked = c->rank[i].size;
	}
}

static int judge(struct pp_xread *x, const struct pp_capture *c, struct pp_err *err)
{
	const struct pp_trace_metadata *t = &x->rank.trace;

	if (x->no_memory)
		return pp_err_set(err, -ENOMEM, "cannot read '%s': no memory", x->path);
	if (t->damaged && (!c->ranks || !t->events))
		return pp_err_set(err, -EINVAL, "cannot read '%s': nothing of it is readable: at byte %" PRIu64 ", %s", x->path,
		                  t->damaged_at, t->damage);
	if (!c->ranks)
		return pp_err_set(err, -EINVAL, "cannot read '%s': it has no line of a rank", x->path);
	return 0;
}

int pp_xspace_read(const char *path, const struct pp_trace_glance *glance, const struct pp_trace_options *options,
                   struct pp_capture *ret_capture, struct pp_err *err)
{
	struct pp_xread x = {.path = path, .options = options, .glance = glance};
	struct pp_capture c = {0};
	int rc = pp_xsource_open(path, options, &x.source, err);

	if (rc)
		return rc;
	init(&x);
	c.rank = calloc(1, sizeof(*c.rank));
	if (x.no_memory || !c.rank) {
		rc = pp_err_set(err, -ENOMEM, "cannot read '%s': no memory", path);
		c.names = x.names;
	} else {
		read_all(&x, &c);
		rc = judge(&x, &c, err);
	}
	release(&x);
	if (rc)
		pp_capture_release(&c);
	else
		*ret_capture = c;
	return rc;
}

/* podprof writes the host first, then the plane of its host and, first in it, a line of a rank. */
static int is_own(const struct pp_field *plane)
{
	struct pp_wire w = pp_wire_of(plane), line;
	int is_host = 0;
	struct pp_field f;

	while (pp_wire_next(&w, &f) != PP_WIRE_END && f.number <= 3)
		if (f.number == 2 && f.type == PP_WIRE_BYTES) {
			is_host = f.size == 9 && !memcmp(f.data, "/host:CPU", 9);
		} else if (f.number == 3 && f.type == PP_WIRE_BYTES) {
			line = pp_wire_of(&f);
			while (pp_wire_next(&line, &f) != PP_WIRE_END && f.number <= 2)
				if (pp_field_is(&f, 2, PP_WIRE_BYTES))
					return is_host && f.size > 5 && !memcmp(f.data, "rank ", 5);
			return 0;
		}
	return 0;
}

int pp_xspace_glance(const void *bytes, size_t size, struct pp_trace_glance *ret_glance)
{
	struct pp_wire w = {bytes, (const uint8_t *)bytes + size};
	int is_first = 1, host_first = 0, known = 0;
	enum pp_wire_result r;
	struct pp_field f;

	while ((r = pp_wire_next(&w, &f)) == PP_WIRE_FIELD || r == PP_WIRE_CUT) {
		if (f.type != PP_WIRE_BYTES || !f.number || f.number > SPACE_HOSTNAMES)
			break;
		if (f.number == SPACE_HOSTNAMES) {
			char good[3 * NAME_BYTES] = "";

			pp_utf8_repair(good, (const char *)f.data, f.size < NAME_BYTES ? f.size : 0);
			if (good[0] && r == PP_WIRE_FIELD)
				snprintf(ret_glance->host, sizeof(ret_glance->host), "%.*s",
				         pp_utf8_fit(good, (int)sizeof(ret_glance->host) - 1), good);
			host_first |= is_first;
		} else if (f.number == SPACE_PLANES) {
			struct pp_wire plane = pp_wire_of(&f);
			struct pp_field g = {0};

			/* A plane begins with its number or its name. */
			if (known || (pp_wire_next(&plane, &g) != PP_WIRE_BAD && g.number && g.number <= 6))
				known = 1;
			if (host_first)
				ret_glance->is_podprof |= is_own(&f);
		}
		is_first = 0;
		if (r == PP_WIRE_CUT)
			break;
	}
	return known;
}
