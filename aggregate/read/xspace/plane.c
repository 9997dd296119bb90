/* Finds a plane's name, lines, metadata and stats without reading its events; see private.h. Called by xspace.c and line.c. */
#include <stdlib.h>
#include <string.h>

#include "aggregate/read/xspace/private.h"
#include "core/base/grow.h"
#include "core/capture/span.h"
#include "core/ring/record.h"
#include "core/step/category.h"
#include "core/step/kernel_name.h"

enum { LONGEST_NAME = 65536, SPARE_PLACES = 1024 };

static int begins(const char *text, size_t length, const char *with)
{
	return length >= strlen(with) && !memcmp(text, with, strlen(with));
}

static int equals(const uint8_t *text, size_t length, const char *to)
{
	return length == strlen(to) && !memcmp(text, to, length);
}

static void add_meta(struct pp_xread *x, struct pp_xtable *t, const struct pp_field *entry)
{
	struct pp_wire w = pp_wire_of(entry);
	struct pp_xmeta meta = {.data = w.end};
	enum pp_wire_result r;
	struct pp_field f;
	struct pp_xmeta *more;

	while ((r = pp_wire_next(&w, &f)) == PP_WIRE_FIELD) {
		if (pp_field_is(&f, 1, PP_WIRE_VARINT)) {
			meta.id = f.value;
		} else if (pp_field_is(&f, 2, PP_WIRE_BYTES)) {
			meta.data = f.data;
			meta.size = f.size;
		}
	}
	pp_xspace_check(x, r, w.at, "metadata");
	if (r != PP_WIRE_END || !meta.size)
		return;
	more = pp_grow(t->meta, t->metas, &t->room, sizeof(*more));
	if (!more) {
		x->no_memory = 1;
		return;
	}
	t->meta = more;
	t->meta[t->metas++] = meta;
}

static int by_id(const void *a, const void *b)
{
	const struct pp_xmeta *m = a, *n = b;

	if (m->id != n->id)
		return m->id < n->id ? -1 : 1;
	return m->data < n->data ? -1 : m->data > n->data; /* as they lie in the file: the later one wins */
}

static int is_sorted(const struct pp_xtable *t)
{
	for (size_t i = 1; i < t->metas; i++)
		if (t->meta[i - 1].id >= t->meta[i].id)
			return 0;
	return 1;
}

/* Small ids get a place; what is behind sorted_from is found by halving. */
static void index_table(struct pp_xread *x, struct pp_xtable *t)
{
	if (!is_sorted(t))
		qsort(t->meta, t->metas, sizeof(*t->meta), by_id);
	t->places = 4 * t->metas + SPARE_PLACES;
	t->place = calloc(t->places, sizeof(*t->place));
	if (!t->place) {
		x->no_memory = 1;
		t->places = 0;
		t->metas = 0;
	}
	for (t->sorted_from = 0; t->sorted_from < t->metas && t->meta[t->sorted_from].id < t->places; t->sorted_from++)
		t->place[t->meta[t->sorted_from].id] = (uint32_t)t->sorted_from + 1;
}

static struct pp_xmeta *find(struct pp_xtable *t, uint64_t id)
{
	size_t low = t->sorted_from, high = t->metas;

	if (id < t->places)
		return t->place[id] ? &t->meta[t->place[id] - 1] : NULL;
	while (low < high) { /* the last with an id up to this */
		size_t middle = low + (high - low) / 2;

		if (t->meta[middle].id <= id)
			low = middle + 1;
		else
			high = middle;
	}
	return low > t->sorted_from && t->meta[low - 1].id == id ? &t->meta[low - 1] : NULL;
}

static const struct {
	const char *name;
	enum pp_xs_kind kind;
} known[] = {
        {"group_id", PP_XS_GROUP_ID},
        {"step_name", PP_XS_STEP_NAME},
        {"step_num", PP_XS_STEP_NUM},
        {"iter_num", PP_XS_ITER_NUM},
        {"_r", PP_XS_ROOT},
        {"_a", PP_XS_ASYNC},
        {"_pt", PP_XS_PRODUCER_TYPE},
        {"_p", PP_XS_PRODUCER},
        {"_ct", PP_XS_CONSUMER_TYPE},
        {"_c", PP_XS_CONSUMER},
        {"correlation_id", PP_XS_CORRELATION},
        {"tf_op", PP_XS_OP},
        {"hlo_op", PP_XS_ANNOTATION},
        {"annotation", PP_XS_ANNOTATION},
        {"level 0", PP_XS_ANNOTATION},
        {"kernel_details", PP_XS_KERNEL_DETAILS},
        {"theoretical_occupancy_pct", PP_XS_OCCUPANCY},
        {"memcpy_details", PP_XS_COPY_DETAILS},
        {"Memset_details", PP_XS_COPY_DETAILS},
        {"memset_details", PP_XS_COPY_DETAILS},
        {"shape", PP_XS_SHAPE},
        {"bytes_accessed", PP_XS_BYTES_ACCESSED},
        {"allocator_name", PP_XS_ALLOCATOR},
        {"index_on_host", PP_XS_ALLOCATOR_NUMBER},
        {"device_ordinal", PP_XS_ALLOCATOR_NUMBER},
        {"bytes_reserved", PP_XS_RESERVED},
        {"bytes_allocated", PP_XS_ALLOCATED},
        {"bytes_available", PP_XS_AVAILABLE},
        {"fragmentation", PP_XS_FRAGMENTATION},
        {"peak_bytes_in_use", PP_XS_PEAK},
        {"requested_bytes", PP_XS_REQUESTED},
        {"allocation_bytes", PP_XS_ALLOCATION_BYTES},
        {"addr", PP_XS_ADDRESS},
        {"region_type", PP_XS_REGION},
        {"data_type", PP_XS_DATA_TYPE},
        {"profile_start_time", PP_XS_START_TIME},
        {"gpu_device_name", PP_XS_DEVICE_NAME},
        {"device_type_string", PP_XS_DEVICE_NAME},
        {"device_vendor", PP_XS_DEVICE_VENDOR},
        {"compute_cap_major", PP_XS_COMPUTE_MAJOR},
        {"compute_cap_minor", PP_XS_COMPUTE_MINOR},
        {"memory_size", PP_XS_MEMORY_SIZE},
        {"number_in_process", PP_XS_OWN_NUMBER},
        {"jax_version", PP_XS_JAX_VERSION},
        {"clock", PP_XS_CLOCK},
        {"clock_bound_ns", PP_XS_CLOCK_BOUND},
        {"bytes", PP_XS_BYTES},
        {"bytes_received", PP_XS_RECEIVED},
        {"comm", PP_XS_COMM},
        {"sequence", PP_XS_SEQUENCE},
        {"polls", PP_XS_POLLS},
        {"peer", PP_XS_PEER},
        {"request", PP_XS_REQUEST},
        {"cut", PP_XS_CUT},
        {"category", PP_XS_CATEGORY},
        {"value", PP_XS_VALUE},
        {"step", PP_XS_STEP},
        {"rss", PP_XS_RSS},
        {"pss", PP_XS_PSS},
        {"children_rss", PP_XS_CHILDREN_RSS},
        {"is_counted", PP_XS_IS_COUNTED},
        {"edge", PP_XS_EDGE},
        {"tag", PP_XS_TAG},
        {"order", PP_XS_ORDER},
        {"source", PP_XS_SOURCE},
        {"source_tag", PP_XS_SOURCE_TAG},
        {"source_order", PP_XS_SOURCE_ORDER},
        {"launch", PP_XS_KERNEL_DETAILS},
};

static enum pp_xs_kind kind_of(const uint8_t *name, size_t length)
{
	for (size_t i = 0; length < 32 && i < sizeof(known) / sizeof(known[0]); i++)
		if (equals(name, length, known[i].name))
			return known[i].kind;
	return PP_XS_NONE;
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

/* Names: an event has its name, and a label where a viewer shows another; podprof's prefix of names is for xprof only, and so are
 * its names of operators, which have the name itself as a description. */
static void ready(struct pp_xread *x, struct pp_xplane *p, struct pp_xmeta *m, int is_event)
{
	struct pp_wire w = {m->data, m->data + m->size};
	const uint8_t *label = NULL;
	size_t label_length = 0;
	enum pp_wire_result r;
	struct pp_field f;
	int stats = 0;

	m->is_ready = 1;
	m->line = x->lines;
	m->bytes = -1;
	while ((r = pp_wire_next(&w, &f)) == PP_WIRE_FIELD) {
		if (pp_field_is(&f, 2, PP_WIRE_BYTES)) {
			m->text = f.data;
			m->length = f.size;
		} else if (pp_field_is(&f, is_event ? 4 : 3, PP_WIRE_BYTES)) {
			label = f.data;
			label_length = f.size;
		}
		stats |= is_event && pp_field_is(&f, 5, PP_WIRE_BYTES);
	}
	pp_xspace_check(x, r, w.at, "metadata");
	if (!is_event)
		m->kind = (uint8_t)kind_of(m->text, m->length);
	if (label_length && (x->glance->is_podprof || (is_event && (p->kind == PP_XPLANE_TPU || !m->length)))) {
		m->text = label;
		m->length = label_length;
	}
	if (m->length > LONGEST_NAME)
		m->length = LONGEST_NAME;
	if (!is_event)
		return;
	m->name = m->length ? pp_intern_put(x->names, (const char *)m->text, m->length) : 0;
	m->kind = (uint8_t)class_of((const char *)m->text, m->length);
	if (p->kind == PP_XPLANE_GPU || p->kind == PP_XPLANE_TPU) {
		m->activity = (uint8_t)pp_kernel_activity((const char *)m->text, m->length);
		m->precision = (uint8_t)pp_kernel_precision((const char *)m->text, m->length);
	}
	if (p->kind == PP_XPLANE_HOST)
		m->is_unknown = is_unknown(m);
	if (stats)
		read_event_stats(x, p, m);
}

struct pp_xmeta *pp_xplane_find_event(struct pp_xread *x, struct pp_xplane *p, uint64_t id)
{
	struct pp_xmeta *m = find(&p->events, id);

	if (m && !m->is_ready)
		ready(x, p, m, 1);
	return m;
}

struct pp_xmeta *pp_xplane_find_stat(struct pp_xread *x, struct pp_xplane *p, uint64_t id)
{
	struct pp_xmeta *m = find(&p->stats, id);

	if (m && !m->is_ready)
		ready(x, p, m, 0);
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
	struct pp_xslice *more = pp_grow(p->line, p->lines, &p->lines_room, sizeof(*more));

	if (!more) {
		x->no_memory = 1;
		return;
	}
	p->line = more;
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
			add_meta(x, &p->events, &f);
		else if (pp_field_is(&f, 5, PP_WIRE_BYTES))
			add_meta(x, &p->stats, &f);
		at = w.at;
	}
	pp_xspace_check(x, r, at, "a plane");
	index_table(x, &p->events);
	index_table(x, &p->stats);
	memset(p->kind_of, PP_XS_KINDS, sizeof(p->kind_of));
	for (size_t i = 0; i < p->stats.metas && !p->is_grouped; i++) {
		struct pp_xmeta *m = &p->stats.meta[i];

		if (m->size < 24)
			p->is_grouped = pp_xplane_stat(x, p, m->id)->kind == PP_XS_GROUP_ID;
	}
}

void pp_xplane_close(struct pp_xplane *p)
{
	free(p->line);
	free(p->events.meta);
	free(p->events.place);
	free(p->stats.meta);
	free(p->stats.place);
	*p = (struct pp_xplane){0};
}
