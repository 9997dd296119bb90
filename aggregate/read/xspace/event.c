/* Reads an event, the usual form of one without a call per field; see event.h. */
#include "aggregate/read/xspace/event.h"

#include <string.h>

#include "aggregate/read/xspace/damage.h"
#include "aggregate/read/xspace/meta.h"

#define LAST_TIME (INT64_MAX / 2)

enum { EVENT_ID = 1, EVENT_OFFSET, EVENT_DURATION, EVENT_STATS, EVENT_OCCURRENCES };

/* First bytes of fields: of an event, of a stat. */
enum {
	TAG_ID = 0x08,
	TAG_OFFSET = 0x10,
	TAG_DURATION = 0x18,
	TAG_STAT = 0x22,
	TAG_DOUBLE = 0x11,
	TAG_UINT = 0x18,
	TAG_INT = 0x20,
	TAG_REF = 0x38,
};

/* So many bytes behind an event must be of the file, for numbers that are looked at eight bytes at a time. */
enum { SLACK = 256, LONGEST_VARINT = 10 };

struct number {
	const uint8_t *end; /* behind it; NULL: there is none */
	uint64_t value;
};

/* Out of line: inlined, each caller would keep the value in memory. */
static __attribute__((noinline)) struct number long_number_at(const uint8_t *at)
{
	struct pp_wire w = {at, at + LONGEST_VARINT};
	struct number n = {0};

	if (pp_wire_varint(&w, &n.value) == PP_WIRE_FIELD)
		n.end = w.at;
	return n;
}

/* All bytes that it may have are there. */
static inline struct number number_at(const uint8_t *at)
{
	uint64_t value;
	unsigned length;

	if (*at < 0x80)
		return (struct number){at + 1, *at};
	length = pp_wire_short(at, &value);
	return length ? (struct number){at + length, value} : long_number_at(at);
}

static void take_text(struct pp_xevent *e, enum pp_xs_kind kind, const uint8_t *text, size_t length, struct pp_xmeta *meta)
{
	e->has |= PP_XS_BIT(kind);
	e->text[kind] = (struct pp_xtext){text, length, meta};
}

/* Any stat. */
static __attribute__((noinline)) void take_stat(struct pp_xread *x, struct pp_xplane *p, const struct pp_field *f,
                                                struct pp_xevent *e)
{
	struct pp_xvalue v;
	enum pp_xs_kind kind = pp_xvalue_read(x, p, f, &v);

	if (kind == PP_XS_NONE || kind >= PP_XS_OF_EVENTS || (kind < PP_XS_TEXTS && !v.is_text))
		return;
	if (kind < PP_XS_TEXTS) {
		take_text(e, kind, v.text, v.length, v.meta);
		return;
	}
	e->has |= PP_XS_BIT(kind);
	e->number[kind] = v.number;
	if (kind == PP_XS_OCCUPANCY)
		e->occupancy = v.real;
}

/* A stat as most are written: one value, behind an id below 128. 0: it is another one. */
static inline int take_usual_stat(struct pp_xread *x, struct pp_xplane *p, enum pp_xs_kind kind, const uint8_t *at,
                                  const uint8_t *end, struct pp_xevent *e)
{
	struct pp_xmeta *meta;
	struct number n;

	if (kind == PP_XS_OCCUPANCY && *at == TAG_DOUBLE && end - at == 1 + sizeof(e->occupancy)) {
		memcpy(&e->occupancy, at + 1, sizeof(e->occupancy));
		e->has |= PP_XS_BIT(kind);
		return 1;
	}
	n = number_at(at + 1);
	if (n.end != end)
		return 0;
	if (kind >= PP_XS_NUMBERS && kind < PP_XS_OF_EVENTS && (*at == TAG_INT || *at == TAG_UINT)) {
		e->has |= PP_XS_BIT(kind);
		e->number[kind] = n.value;
		return 1;
	}
	meta = kind < PP_XS_TEXTS && *at == TAG_REF ? pp_xmeta_stat(x, p, n.value) : NULL;
	if (meta)
		take_text(e, kind, meta->text, meta->length, meta);
	return meta != NULL;
}

/* Stats from `at` to the end of the event, as long as each is small and begins with an id below 128. Returns where they end; what
 * lies there, and whether that is the event's end, is for the caller to see. */
static inline const uint8_t *take_usual_stats(struct pp_xread *x, struct pp_xplane *p, const uint8_t *at, const uint8_t *end,
                                              struct pp_xevent *e)
{
	while (at < end && at[0] == TAG_STAT && at[2] == TAG_ID && (at[1] | at[3]) < 128) {
		const uint8_t *stat = at + 2;
		uint8_t kind = p->kind_of[at[3]];

		at = stat + at[1];
		if (kind == PP_XS_NONE)
			continue;
		if (kind == PP_XS_KINDS || !take_usual_stat(x, p, (enum pp_xs_kind)kind, stat + 2, at, e))
			take_stat(x, p, &(struct pp_field){.data = stat, .size = (size_t)(at - stat)}, e);
	}
	return at;
}

/* The number behind the tag; without the tag it is 0. NULL: none can be read. */
static inline const uint8_t *take_number(const uint8_t *at, uint8_t tag, uint64_t *ret_value)
{
	struct number n = {at, 0};

	if (at && *at == tag)
		n = number_at(at + 1);
	*ret_value = n.value;
	return n.end;
}

/* An event as nearly all are written: fields in order, and small stats. 0: it is another one, and what was read of it does not
 * count. */
static inline int read_usual(struct pp_xread *x, struct pp_xplane *p, const struct pp_field *field, struct pp_xevent *e)
{
	const uint8_t *at = field->data, *end = at + field->size;
	uint64_t offset, duration;

	if (x->source.bytes + x->source.size - end < SLACK)
		return 0;
	at = take_number(at, TAG_ID, &e->metadata);
	at = take_number(at, TAG_OFFSET, &offset);
	at = take_number(at, TAG_DURATION, &duration);
	e->offset_ps = (int64_t)offset;
	e->duration_ps = (int64_t)duration;
	return at && take_usual_stats(x, p, at, end, e) == end;
}

static enum pp_wire_result read_any(struct pp_xread *x, struct pp_xplane *p, const struct pp_field *field, struct pp_xevent *e)
{
	struct pp_wire w = pp_wire_of(field);
	enum pp_wire_result r;
	struct pp_field f;

	e->has = e->metadata = 0;
	e->offset_ps = e->duration_ps = 0;
	while ((r = pp_wire_next(&w, &f)) == PP_WIRE_FIELD) {
		if (f.type == PP_WIRE_BYTES) {
			if (f.number == EVENT_STATS)
				take_stat(x, p, &f, e);
		} else if (f.number == EVENT_ID) {
			e->metadata = f.value;
		} else if (f.number == EVENT_OFFSET) {
			e->offset_ps = (int64_t)f.value;
			e->is_total = 0;
		} else if (f.number == EVENT_DURATION) {
			e->duration_ps = (int64_t)f.value;
		} else if (f.number == EVENT_OCCURRENCES) {
			e->is_total = 1;
		}
	}
	return r;
}

/* Rounded down. */
static inline int64_t ns_of(int64_t ps)
{
	int64_t ns = ps / 1000;

	return ns - (ps < 1000 * ns);
}

int pp_xevent_read(struct pp_xread *x, struct pp_xplane *p, const struct pp_xline *l, const struct pp_field *field,
                   struct pp_xevent *e, int64_t *ret_begin, int64_t *ret_end)
{
	const int64_t bias = x->glance->is_podprof ? 500 : 0; /* podprof shortens events by single ps: to the nearest ns */
	int64_t begin_ps, end_ps;

	e->has = e->metadata = 0;
	e->is_total = 0;
	if (!read_usual(x, p, field, e)) {
		enum pp_wire_result r = read_any(x, p, field, e);

		if (r != PP_WIRE_END) {
			pp_xdamage_check(x, r, field->data, "an event");
			return 0;
		}
	}
	if (e->is_total || e->duration_ps < 0 || __builtin_add_overflow(e->offset_ps, bias, &begin_ps) ||
	    __builtin_add_overflow(begin_ps, e->duration_ps, &end_ps) ||
	    __builtin_add_overflow(l->timestamp_ns, ns_of(begin_ps), ret_begin) ||
	    __builtin_add_overflow(l->timestamp_ns, ns_of(end_ps), ret_end) || *ret_begin < 0 || *ret_end > LAST_TIME) {
		x->rank.trace.untimed++;
		return 0;
	}
	return 1;
}
