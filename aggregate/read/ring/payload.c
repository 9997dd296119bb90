/* NVTX payloads: decodes bytes by the application's schema, keeps payloads until their range comes, and merges several of one
 * range; see payload.h. */
#include "aggregate/read/ring/payload.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ELEMENTS = 16, MOST_HEX = 64, RAW = 1023, FIRST_STATIC = 1 << 24 };

enum entry_flags { POINTER = 2, FROM_BASE = 4, FROM_HERE = 8, ARRAY = 7 << 4, ARRAY_FIXED = 1 << 4, HIDDEN = 1 << 9 };

enum form { NONE, SIGNED, UNSIGNED, FLOATING, CHARACTER, ADDRESS, STRING };

static const struct type {
	uint8_t size, form;
} types[] = {
        [1] = {1, CHARACTER}, [2] = {1, UNSIGNED},  [3] = {2, SIGNED},     [4] = {2, UNSIGNED},  [5] = {4, SIGNED},
        [6] = {4, UNSIGNED},  [7] = {8, SIGNED},    [8] = {8, UNSIGNED},   [9] = {8, SIGNED},    [10] = {8, UNSIGNED},
        [11] = {1, SIGNED},   [12] = {1, UNSIGNED}, [13] = {2, SIGNED},    [14] = {2, UNSIGNED}, [15] = {4, SIGNED},
        [16] = {4, UNSIGNED}, [17] = {8, SIGNED},   [18] = {8, UNSIGNED},  [19] = {4, FLOATING}, [20] = {8, FLOATING},
        [22] = {8, UNSIGNED}, [23] = {8, ADDRESS},  [25] = {1, CHARACTER}, [32] = {1, UNSIGNED}, [43] = {4, FLOATING},
        [44] = {8, FLOATING}, [68] = {4, UNSIGNED}, [69] = {4, UNSIGNED},  [70] = {8, UNSIGNED}, [71] = {4, UNSIGNED},
        [72] = {8, UNSIGNED}, [73] = {4, UNSIGNED}, [74] = {8, UNSIGNED},  [75] = {1, STRING},   [76] = {1, STRING},
        [80] = {8, ADDRESS},
};

struct out {
	char *text;
	size_t used;
};

static void put(struct out *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void put(struct out *o, const char *fmt, ...)
{
	va_list args;
	int n;

	if (o->used >= PP_PAYLOAD_TEXT - 1)
		return;
	va_start(args, fmt);
	n = vsnprintf(o->text + o->used, PP_PAYLOAD_TEXT - o->used, fmt, args);
	va_end(args);
	if (n > 0)
		o->used += (size_t)n;
	if (o->used > PP_PAYLOAD_TEXT - 1)
		o->used = PP_PAYLOAD_TEXT - 1;
}

static void put_hex(struct out *o, const char *bytes, size_t length, uint32_t size)
{
	put(o, "%" PRIu32 " byte%s%s", size, size == 1 ? "" : "s", length ? " 0x" : "");
	for (size_t i = 0; i < length && i < MOST_HEX; i++)
		put(o, "%02x", (unsigned char)bytes[i]);
	if (size > length || length > MOST_HEX)
		put(o, "...");
}

/* The definition of that kind and id, copied into `row` (PP_RING_DEFINITIONS bytes); NULL where there is none or it is invalid. */
static const struct pp_ring_definition *find(const struct pp_ring_header *h, int kind, uint16_t domain, uint64_t id, void *row)
{
	uint32_t used = pp_ring_definitions_used(h);
	struct pp_ring_definition n;

	if (used > PP_RING_DEFINITIONS)
		return NULL;
	for (uint32_t at = 0; at + sizeof(n) <= used; at += n.bytes) {
		memcpy(&n, (const char *)h->definition + at, sizeof(n));
		if (n.bytes < sizeof(n) || n.bytes % 8 || n.bytes > used - at)
			return NULL;
		if (n.kind != kind || n.id != id || (n.domain != domain && id <= UINT32_MAX))
			continue;
		memcpy(row, (const char *)h->definition + at, n.bytes);
		memcpy(row, &n, sizeof(n));
		return sizeof(n) + n.count * sizeof(struct pp_ring_entry) > n.bytes ? NULL : row;
	}
	return NULL;
}

static uint64_t unsigned_of(const char *bytes, size_t size)
{
	uint64_t v = 0;

	memcpy(&v, bytes, size <= 8 ? size : 8); /* little-endian, as all hosts that podprof supports */
	return v;
}

static void put_value(struct out *o, struct type t, const char *bytes)
{
	uint64_t v = unsigned_of(bytes, t.size);
	int64_t s = t.size < 8 ? (int64_t)(v << (64 - 8 * t.size)) >> (64 - 8 * t.size) : (int64_t)v;
	double d;
	float f;

	switch (t.form) {
	case SIGNED:
		put(o, "%" PRId64, s);
		break;
	case FLOATING:
		memcpy(&f, bytes, sizeof(f));
		d = f;
		if (t.size == 8)
			memcpy(&d, bytes, sizeof(d));
		put(o, "%.*g", t.size == 8 ? 15 : 7, d);
		break;
	case CHARACTER:
		put(o, v >= ' ' && v < 127 ? "'%c'" : "%d", (int)v);
		break;
	case ADDRESS:
		put(o, "0x%" PRIx64, v);
		break;
	default:
		put(o, "%" PRIu64, v);
	}
}

static void put_string(struct out *o, const char *bytes, size_t length)
{
	put(o, "\"%.*s\"", (int)strnlen(bytes, length), bytes);
}

static void put_values(struct out *o, struct type t, const char *bytes, size_t count)
{
	if (t.form == STRING || (t.form == CHARACTER && count > 1)) {
		put_string(o, bytes, count * t.size);
		return;
	}
	if (count != 1)
		put(o, "[");
	for (size_t i = 0; i < count && i < MOST_ELEMENTS; i++) {
		put(o, "%s", i ? ", " : "");
		put_value(o, t, bytes + i * t.size);
	}
	put(o, "%s%s", count > MOST_ELEMENTS ? ", ..." : "", count != 1 ? "]" : "");
}

/* Names follow the entries, one after the other, the row's own name last. */
static size_t name_at(const struct pp_ring_definition *n, size_t at, size_t length)
{
	return at <= n->bytes && length <= n->bytes - at ? length : 0;
}

static void put_enumerator(struct out *o, const struct pp_ring_definition *n, const char *bytes)
{
	const struct pp_ring_entry *e = (const struct pp_ring_entry *)(n + 1);
	uint64_t v = unsigned_of(bytes, n->detail), mask = n->detail < 8 ? (UINT64_C(1) << 8 * n->detail) - 1 : UINT64_MAX;
	size_t at = sizeof(*n) + n->count * sizeof(*e);
	int shown = 0;

	for (size_t i = 0; i < n->count; at += e[i++].name) {
		uint64_t one = e[i].type & mask;

		if (one != v && !(e[i].flags && one && (v & one) == one))
			continue;
		put(o, "%s%.*s", shown++ ? "|" : "", (int)name_at(n, at, e[i].name), (const char *)n + at);
	}
	if (!shown)
		put(o, "%" PRIu64, v);
}

struct place { /* of one entry in the bytes */
	struct type type;
	const struct pp_ring_definition *list; /* its enumeration */
	size_t begin, count;
};

/* 0 where the entry is simple: a number, an enumerator, a fixed array, an inline string. */
static int place_entry(const struct pp_ring_header *h, const struct pp_ring_definition *n, const struct pp_ring_entry *e,
                       size_t last, void *row, struct place *p)
{
	size_t align;

	*p = (struct place){.count = 1};
	if (e->flags & (POINTER | FROM_BASE | FROM_HERE) || (e->flags & ARRAY && (e->flags & ARRAY) != ARRAY_FIXED))
		return -1;
	if (e->type < sizeof(types) / sizeof(types[0])) {
		p->type = types[e->type];
	} else {
		p->list = find(h, PP_DEFINITION_ENUM, n->domain, e->type, row);
		if (p->list && p->list->detail && p->list->detail <= 8 && !(e->flags & ARRAY))
			p->type = (struct type){(uint8_t)p->list->detail, UNSIGNED};
	}
	if (p->type.form == NONE)
		return -1;
	if (p->type.form == STRING && !e->detail)
		p->type = (struct type){8, ADDRESS}; /* a pointer: podprof must not read its target */
	else if (p->type.form == STRING || e->flags & ARRAY)
		p->count = e->detail;
	align = n->width && n->width < p->type.size ? n->width : p->type.size;
	p->begin = e->offset || !align ? e->offset : (last + align - 1) / align * align;
	return p->count ? 0 : -1;
}

static int put_struct(const struct pp_ring_header *h, const struct pp_ring_definition *n, void *row, const char *bytes,
                      size_t length, struct out *o)
{
	const struct pp_ring_entry *e = (const struct pp_ring_entry *)(n + 1);
	size_t at = sizeof(*n) + n->count * sizeof(*e), last = 0;
	int shown = 0;

	for (size_t i = 0; i < n->count; at += e[i++].name) {
		struct place p;
		size_t bytes_of;

		if (at > n->bytes || place_entry(h, n, &e[i], last, row, &p))
			return -1;
		bytes_of = p.count * p.type.size;
		last = p.begin + bytes_of;
		if (p.begin > length || bytes_of > length - p.begin)
			return -1; /* the payload is shorter than its schema */
		if (e[i].flags & HIDDEN)
			continue;
		put(o, "%s%.*s%s", shown++ ? ", " : "", (int)name_at(n, at, e[i].name), (const char *)n + at, e[i].name ? "=" : "");
		if (p.list)
			put_enumerator(o, p.list, bytes + p.begin);
		else
			put_values(o, p.type, bytes + p.begin, p.count);
	}
	return shown ? 0 : -1;
}

/* Formats it by the schema; -1: formats it as bytes. */
static int put_known(const struct pp_ring_header *h, const struct pp_record_payload *p, const char *bytes, size_t length,
                     struct out *o)
{
	struct type t = {0};
	const struct pp_ring_definition *n;
	char *rows;
	int rc;

	if (p->schema < FIRST_STATIC) {
		if (p->schema < sizeof(types) / sizeof(types[0]))
			t = types[p->schema];
		if (!t.size || length < t.size || length % t.size || p->size > length)
			return -1;
		put_values(o, t, bytes, length / t.size);
		return 0;
	}
	rows = malloc(2 * (size_t)PP_RING_DEFINITIONS);
	if (!rows)
		return -1;
	n = find(h, PP_DEFINITION_SCHEMA, p->domain, p->schema, rows);
	rc = n ? put_struct(h, n, rows + PP_RING_DEFINITIONS, bytes, length, o) : -1;
	free(rows);
	return rc;
}

size_t pp_payload_text(const struct pp_ring_header *h, const struct pp_record_payload *p, const char *bytes, size_t length,
                       char *to)
{
	struct out o = {.text = to};

	to[0] = '\0';
	if (!length || p->schema == RAW || put_known(h, p, bytes, length, &o)) {
		o.used = 0;
		put_hex(&o, bytes, length, p->size);
	}
	return o.used;
}

static uint64_t intern(struct pp_pair *p, const char *text, size_t length)
{
	uint32_t id = pp_intern_put(p->shared->payloads, text, length);

	if (!id && length)
		p->lost[PP_LOSS_NAME_CUT]++;
	return id;
}

/* Bytes of the text, cut at `size` - 1. */
static size_t as_text(const struct pp_pair *p, uint16_t type, uint64_t bits, char *to, size_t size)
{
	double d;
	float f;
	int n;

	memcpy(&d, &bits, sizeof(d));
	memcpy(&f, &bits, sizeof(f));
	switch (type) {
	case PP_PAYLOAD_UINT64:
		n = snprintf(to, size, "%" PRIu64, bits);
		break;
	case PP_PAYLOAD_INT64:
		n = snprintf(to, size, "%" PRId64, (int64_t)bits);
		break;
	case PP_PAYLOAD_DOUBLE:
		n = snprintf(to, size, "%.15g", d);
		break;
	case PP_PAYLOAD_UINT32:
		n = snprintf(to, size, "%" PRIu32, (uint32_t)bits);
		break;
	case PP_PAYLOAD_INT32:
		n = snprintf(to, size, "%" PRId32, (int32_t)bits);
		break;
	case PP_PAYLOAD_FLOAT:
		n = snprintf(to, size, "%.7g", (double)f);
		break;
	default:
		n = snprintf(to, size, "%s", pp_intern_text(p->shared->payloads, (uint32_t)bits, NULL));
	}
	return n < 0 ? 0 : (size_t)n < size ? (size_t)n : size - 1;
}

/* Adds a payload to *type and *bits; the second one makes them a text. */
static void append(struct pp_pair *p, uint16_t *type, uint64_t *bits, uint16_t more_type, uint64_t more)
{
	char text[2 * PP_PAYLOAD_TEXT + 4];
	size_t n, m;

	if (*type == PP_PAYLOAD_NONE) {
		*type = more_type;
		*bits = more;
		return;
	}
	n = as_text(p, *type, *bits, text, PP_PAYLOAD_TEXT);
	text[n] = ';';
	text[n + 1] = ' ';
	m = as_text(p, more_type, more, text + n + 2, PP_PAYLOAD_TEXT);
	*type = PP_PAYLOAD_EXT;
	*bits = intern(p, text, n + 2 + m);
}

struct waiting {      /* on a thread */
	pp_tick tick; /* of the record that the payload belongs to */
	uint64_t bits;
	uint16_t type; /* enum pp_payload_type; NONE: no payload is waiting */
};

static int is_bad(const struct pp_record *r)
{
	return r->payload.domain >= PP_RING_DOMAINS || r->payload.type == PP_PAYLOAD_NONE || r->payload.type > PP_PAYLOAD_EXT;
}

static void take(struct pp_track *track, const struct pp_record *r, const char *bytes, size_t length)
{
	struct pp_pair *p = track->pair;
	struct waiting *w = pp_track_state(track, PP_READER_PAYLOAD, sizeof(*w));
	char text[PP_PAYLOAD_TEXT];
	uint64_t bits = 0;

	if (!w)
		return;
	if (w->tick != r->tick)
		w->type = PP_PAYLOAD_NONE;
	w->tick = r->tick;
	if (r->payload.type == PP_PAYLOAD_EXT)
		bits = intern(p, text, pp_payload_text(p->header, &r->payload, bytes, length, text));
	else if (length <= sizeof(bits) && r->payload.type < PP_PAYLOAD_EXT)
		memcpy(&bits, bytes, length);
	else
		return;
	append(p, &w->type, &w->bits, r->payload.type, bits);
}

void pp_payload_suffix(struct pp_track *track, const struct pp_record *r, const char *text, size_t length)
{
	struct waiting *w = pp_track_state(track, PP_READER_PAYLOAD, sizeof(*w));
	uint64_t bits;

	if (!w || (w->type != PP_PAYLOAD_NONE && w->tick == r->tick))
		return;
	w->type = PP_PAYLOAD_NONE;
	bits = intern(track->pair, text, length < PP_PAYLOAD_TEXT ? length : PP_PAYLOAD_TEXT - 1);
	if (!bits)
		return;
	w->tick = r->tick;
	w->bits = bits;
	w->type = PP_PAYLOAD_EXT;
}

/* Out of line: every push calls the next. */
static __attribute__((noinline)) void take_waiting(struct pp_track *track, struct waiting *w, const struct pp_record *r,
                                                   struct pp_span *span)
{
	if (span && w->tick == r->tick)
		append(track->pair, &span->range.payload_type, &span->range.payload, w->type, w->bits);
	w->type = PP_PAYLOAD_NONE;
}

void pp_payload_take(struct pp_track *track, const struct pp_record *r, struct pp_span *span)
{
	struct waiting *w = track->state[PP_READER_PAYLOAD];

	if (w && w->type != PP_PAYLOAD_NONE)
		take_waiting(track, w, r, span);
}

static const struct pp_reader_kind kinds[] = {
        {.kind = PP_RECORD_PAYLOAD, .is_bad = is_bad, .take = take},
        {.kind = PP_RECORD_NONE},
};

const struct pp_reader_ops pp_reader_payload = {
        .name = "payload",
        .kinds = kinds,
};
