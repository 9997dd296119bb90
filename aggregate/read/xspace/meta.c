/* Finds metadata by id, and reads them when they are first named; see meta.h. */
#include "aggregate/read/xspace/meta.h"

#include <stdlib.h>
#include <string.h>

#include "aggregate/read/xspace/damage.h"
#include "core/base/compare.h"
#include "core/base/grow.h"
#include "core/base/partition.h"

enum { LONGEST_NAME = 65536, SPARE_PLACES = 1024 };

static int equals(const uint8_t *text, size_t length, const char *to)
{
	return length == strlen(to) && !memcmp(text, to, length);
}

void pp_xmeta_add(struct pp_xread *x, struct pp_xtable *t, const struct pp_field *entry)
{
	struct pp_wire w = pp_wire_of(entry);
	struct pp_xmeta meta = {.data = w.end};
	enum pp_wire_result r;
	struct pp_field f;

	while ((r = pp_wire_next(&w, &f)) == PP_WIRE_FIELD) {
		if (pp_field_is(&f, 1, PP_WIRE_VARINT)) {
			meta.id = f.value;
		} else if (pp_field_is(&f, 2, PP_WIRE_BYTES)) {
			meta.data = f.data;
			meta.size = f.size;
		}
	}
	pp_xdamage_check(x, r, w.at, "metadata");
	if (r != PP_WIRE_END || !meta.size)
		return;
	if (PP_GROW(t->meta, t->metas, t->room)) {
		x->no_memory = 1;
		return;
	}
	t->meta[t->metas++] = meta;
}

PP_COMPARE_BY_2(by_id, struct pp_xmeta, id, data) /* as they lie in the file: the later one wins */

static int is_sorted(const struct pp_xtable *t)
{
	for (size_t i = 1; i < t->metas; i++)
		if (t->meta[i - 1].id >= t->meta[i].id)
			return 0;
	return 1;
}

/* Small ids get a place; what is behind sorted_from is found by halving. */
void pp_xmeta_index(struct pp_xread *x, struct pp_xtable *t)
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

struct pp_xmeta *pp_xmeta_find(struct pp_xtable *t, uint64_t id)
{
	size_t until;

	if (id < t->places)
		return t->place[id] ? &t->meta[t->place[id] - 1] : NULL;
	until = t->sorted_from + PP_PARTITION(t->metas - t->sorted_from, at, t->meta[t->sorted_from + at].id <= id);
	return until > t->sorted_from && t->meta[until - 1].id == id ? &t->meta[until - 1] : NULL; /* the last of that id */
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
        {"run_id", PP_XS_RUN_ID},
        {"program_id", PP_XS_PROGRAM},
        {"global_device_id", PP_XS_GLOBAL_DEVICE},
        {"tf_op", PP_XS_OP},
        {"hlo_op", PP_XS_HLO_OP},
        {"hlo_module", PP_XS_HLO_MODULE},
        {"hlo_category", PP_XS_HLO_CATEGORY},
        {"_src", PP_XS_CODE},
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
        {"id", PP_XS_ID},
        {"parent_id", PP_XS_PARENT_ID},
        {"element_id", PP_XS_ELEMENT_ID},
        {"profile_start_time", PP_XS_START_TIME},
        {"gpu_device_name", PP_XS_DEVICE_NAME},
        {"device_type_string", PP_XS_DEVICE_NAME},
        {"device_vendor", PP_XS_DEVICE_VENDOR},
        {"compute_cap_major", PP_XS_COMPUTE_MAJOR},
        {"compute_cap_minor", PP_XS_COMPUTE_MINOR},
        {"memory_size", PP_XS_MEMORY_SIZE},
        {"number_in_process", PP_XS_OWN_NUMBER},
        {"Hlo Proto", PP_XS_HLO_PROTO},
        {"hlo_proto", PP_XS_HLO_PROTO},
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

/* Names: an event has its name, and a label where a viewer shows another; podprof's prefix of names is for xprof only, and so are
 * its names of operators, which have the name itself as a description. */
int pp_xmeta_ready(struct pp_xread *x, const struct pp_xplane *p, struct pp_xmeta *m, int is_event)
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
	pp_xdamage_check(x, r, w.at, "metadata");
	if (!is_event)
		m->kind = (uint8_t)kind_of(m->text, m->length);
	if (label_length && (x->glance->is_podprof || (is_event && (p->kind == PP_XPLANE_TPU || !m->length)))) {
		m->text = label;
		m->length = label_length;
	}
	if (m->length > LONGEST_NAME)
		m->length = LONGEST_NAME;
	return stats;
}

struct pp_xmeta *pp_xmeta_find_stat(struct pp_xread *x, struct pp_xplane *p, uint64_t id)
{
	struct pp_xmeta *m = pp_xmeta_find(&p->stats, id);

	if (m && !m->is_ready)
		pp_xmeta_ready(x, p, m, 0);
	return m;
}

void pp_xmeta_forget(const struct pp_xread *x, struct pp_xtable *t)
{
	for (size_t i = 0; i < t->metas; i++)
		if (t->meta[i].line == x->lines)
			t->meta[i].is_ready = 0;
}

void pp_xmeta_release(struct pp_xtable *t)
{
	free(t->meta);
	free(t->place);
	*t = (struct pp_xtable){0};
}
