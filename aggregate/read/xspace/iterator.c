/* Reads what an event says of an iterator of tf.data; see iterator.h. */
#include "aggregate/read/xspace/iterator.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "aggregate/read/xspace/meta.h"
#include "core/base/grow.h"
#include "core/base/map.h"
#include "core/base/utf8.h"
#include "core/capture/side.h"

enum { EVENT_STATS = 4, STAT_ID = 1, STAT_DOUBLE, STAT_UINT, STAT_INT, STAT_TEXT, STAT_REF = 7, PARAMETERS = 512 };

struct text {
	char bytes[PARAMETERS];
	size_t n;
};

static uint64_t hash(const void *row)
{
	return ((const struct pp_iterator *)row)->id * PP_MAP_MIX;
}

static int is_same(const void *row, const void *key)
{
	return ((const struct pp_iterator *)row)->id == ((const struct pp_iterator *)key)->id;
}

static int is_text(const struct pp_xmeta *m, const char *text)
{
	return m->length == strlen(text) && !memcmp(m->text, text, m->length);
}

/* "name=value ", or nothing where that is too long. */
static void add(struct text *to, const struct pp_xmeta *name, const void *value, size_t length)
{
	if (name->length + length + 2 > sizeof(to->bytes) - to->n)
		return;
	memcpy(to->bytes + to->n, name->text, name->length);
	to->n += name->length;
	to->bytes[to->n++] = '=';
	if (length)
		memcpy(to->bytes + to->n, value, length);
	to->n += length;
	to->bytes[to->n++] = ' ';
}

/* One stat of an iterator's event: its dataset, or a parameter. */
static void take_stat(struct pp_xread *x, struct pp_xplane *p, const struct pp_field *field, struct pp_iterator *it,
                      struct text *to)
{
	const struct pp_xmeta *name = NULL, *ref;
	struct pp_wire w = pp_wire_of(field);
	struct pp_field f, value = {0};
	char number[32] = "";
	double real;

	while (pp_wire_next(&w, &f) == PP_WIRE_FIELD) {
		if (pp_field_is(&f, STAT_ID, PP_WIRE_VARINT))
			name = pp_xmeta_stat(x, p, f.value);
		else
			value = f;
	}
	if (!name || !name->length || name->kind == PP_XS_ID || name->kind == PP_XS_PARENT_ID)
		return;
	if (pp_field_is(&value, STAT_REF, PP_WIRE_VARINT) && (ref = pp_xmeta_stat(x, p, value.value))) {
		value.data = ref->text;
		value.size = ref->length;
	} else if (pp_field_is(&value, STAT_DOUBLE, PP_WIRE_FIXED64)) {
		memcpy(&real, &value.value, sizeof(real));
		snprintf(number, sizeof(number), "%g", real);
	} else if (pp_field_is(&value, STAT_UINT, PP_WIRE_VARINT) || pp_field_is(&value, STAT_INT, PP_WIRE_VARINT)) {
		snprintf(number, sizeof(number), "%" PRId64, (int64_t)value.value);
	} else if (!pp_field_is(&value, STAT_TEXT, PP_WIRE_BYTES)) {
		return;
	}
	if (number[0])
		add(to, name, number, strlen(number));
	else if (is_text(name, "name"))
		it->dataset = pp_intern_put(x->names, (const char *)value.data, value.size);
	else
		add(to, name, value.data, value.size);
}

static void add_iterator(struct pp_xread *x, struct pp_xplane *p, const struct pp_field *event, const struct pp_xmeta *m,
                         const struct pp_xevent *e)
{
	struct pp_iterator it = {.id = e->number[PP_XS_ID], .name = m->name};
	struct pp_rank *r = &x->rank;
	uint32_t *place = pp_map_place(&x->iterators, r->iterator, r->iterators, sizeof(it), &it, hash, is_same);
	struct pp_wire w = pp_wire_of(event);
	struct text parameters = {.n = 0};
	struct pp_field f;

	if (!place || (!*place && PP_GROW(r->iterator, r->iterators, x->iterators_room))) {
		x->no_memory = 1;
		return;
	}
	if (*place)
		return;
	if (pp_xevent_has(e, PP_XS_PARENT_ID))
		it.parent = e->number[PP_XS_PARENT_ID];
	while (pp_wire_next(&w, &f) == PP_WIRE_FIELD)
		if (pp_field_is(&f, EVENT_STATS, PP_WIRE_BYTES))
			take_stat(x, p, &f, &it, &parameters);
	if (parameters.n)
		it.parameters = pp_intern_put(x->names, parameters.bytes, parameters.n - 1);
	r->iterator[r->iterators++] = it;
	*place = (uint32_t)r->iterators;
}

void pp_xiterator_take(struct pp_xread *x, struct pp_xplane *p, const struct pp_field *event, const struct pp_xmeta *m,
                       const struct pp_xevent *e, struct pp_span *s)
{
	const int is_iterator = m->kind == PP_XEVENT_ITERATOR;
	const enum pp_xs_kind stat = is_iterator ? PP_XS_ID : PP_XS_ELEMENT_ID;

	if (!pp_xevent_has(e, stat))
		return;
	s->range.payload = e->number[stat];
	s->range.payload_type = PP_PAYLOAD_UINT64;
	if (is_iterator)
		add_iterator(x, p, event, m, e);
}
