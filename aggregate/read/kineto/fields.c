/* Members of an event: which keys there are, and where each value goes. Called by json.c. */
#include "aggregate/read/kineto/fields.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/read/kineto/dialect.h"
#include "aggregate/read/kineto/number.h"
#include "core/base/utf8.h"

enum event_key { EVENT_PHASE = 1, EVENT_CATEGORY, EVENT_NAME, EVENT_PID, EVENT_TID, EVENT_TS, EVENT_DUR, EVENT_ARGS };

struct key {
	const char *text;
	uint8_t length;
	int number;
};

#define KEY(text, number)                                                                                                          \
	{                                                                                                                          \
		text, sizeof(text) - 1, number                                                                                     \
	}

static const struct key event_key[] = {KEY("ph", EVENT_PHASE), KEY("cat", EVENT_CATEGORY), KEY("name", EVENT_NAME),
                                       KEY("pid", EVENT_PID),  KEY("tid", EVENT_TID),      KEY("ts", EVENT_TS),
                                       KEY("dur", EVENT_DUR),  KEY("args", EVENT_ARGS)};
static const struct key top_key[] = {KEY("traceEvents", TOP_EVENTS),          KEY("baseTimeNanoseconds", TOP_BASE),
                                     KEY("distributedInfo", TOP_DISTRIBUTED), KEY("deviceProperties", TOP_DEVICES),
                                     KEY("pytorch_version", TOP_VERSION),     KEY("torch_version", TOP_VERSION),
                                     KEY("schemaVersion", TOP_SCHEMA)};
static const struct key distributed_key[] = {KEY("rank", DISTRIBUTED_RANK), KEY("world_size", DISTRIBUTED_WORLD),
                                             KEY("pg_count", DISTRIBUTED_GROUPS)};
static const struct key device_key[] = {KEY("id", DEVICE_ID), KEY("name", DEVICE_NAME), KEY("totalGlobalMem", DEVICE_MEMORY)};

static int find(const struct key *key, size_t keys, const char *text, size_t length)
{
	for (size_t i = 0; i < keys; i++)
		if (key[i].length == length && !memcmp(key[i].text, text, length))
			return key[i].number;
	return KINETO_UNKNOWN_KEY;
}

#define FIND(list, text, length) find(list, sizeof(list) / sizeof((list)[0]), text, length)

int pp_kineto_key(enum kineto_place place, const char *text, size_t length)
{
	switch (place) {
	case KINETO_EVENT:
		return FIND(event_key, text, length);
	case KINETO_ARGS:
		return pp_kineto_argument(text, length);
	case KINETO_TOP:
		return FIND(top_key, text, length);
	case KINETO_DISTRIBUTED:
		return FIND(distributed_key, text, length);
	case KINETO_DEVICE_ROW:
		return FIND(device_key, text, length);
	default:
		return KINETO_UNKNOWN_KEY;
	}
}

/* Begin and end of up to 16 bytes, which overlap: all of them. */
struct ends {
	uint64_t begin, end;
};

static struct ends ends_of(const char *text, size_t length)
{
	struct ends e = {0, 0};

	if (length >= sizeof(e.begin)) {
		memcpy(&e.begin, text, sizeof(e.begin));
		memcpy(&e.end, text + length - sizeof(e.end), sizeof(e.end));
	} else if (length >= sizeof(uint32_t)) {
		memcpy(&e.begin, text, sizeof(uint32_t));
		memcpy(&e.end, text + length - sizeof(uint32_t), sizeof(uint32_t));
	} else {
		e.begin = (uint8_t)text[0];
		e.end = (uint64_t)(uint8_t)text[length / 2] << 8 | (uint8_t)text[length - 1];
	}
	return e;
}

int pp_kineto_key_again(struct kineto_keys *keys, enum kineto_place place, const char *text, size_t length)
{
	struct kineto_known_key *k;
	struct ends e;

	if (!length || length > 2 * sizeof(e.begin))
		return pp_kineto_key(place, text, length);
	e = ends_of(text, length);
	k = &keys->known[((e.begin ^ e.end << 1 ^ length << 3 ^ place) * UINT64_C(0x9e3779b97f4a7c15)) >> 56];
	if (k->begin != e.begin || k->end != e.end || k->length != length || k->place != place) {
		k->begin = e.begin;
		k->end = e.end;
		k->number = (uint8_t)pp_kineto_key(place, text, length);
		k->length = (uint8_t)length;
		k->place = (uint8_t)place;
	}
	return k->number;
}

enum kineto_place pp_kineto_inside(enum kineto_place place, int key, int is_map)
{
	switch (place) {
	case KINETO_TOP:
		if (is_map)
			return key == TOP_DISTRIBUTED ? KINETO_DISTRIBUTED : KINETO_SKIP;
		return key == TOP_EVENTS        ? KINETO_EVENTS
		       : key == TOP_DEVICES     ? KINETO_DEVICES
		       : key == TOP_DISTRIBUTED ? KINETO_DISTRIBUTED_LIST
		                                : KINETO_SKIP;
	case KINETO_DISTRIBUTED_LIST:
		return is_map ? KINETO_DISTRIBUTED : KINETO_SKIP;
	case KINETO_EVENTS:
		return is_map ? KINETO_EVENT : KINETO_SKIP;
	case KINETO_EVENT:
		return is_map && key == EVENT_ARGS ? KINETO_ARGS : KINETO_SKIP;
	case KINETO_ARGS:
		return !is_map && key ? KINETO_ARG_LIST : KINETO_SKIP;
	case KINETO_ARG_LIST: /* `key`: of the list */
		return !is_map && key && pp_kineto_argument_row(key)->type == KINETO_LISTS ? KINETO_ARG_LIST : KINETO_SKIP;
	case KINETO_DEVICES:
		return is_map ? KINETO_DEVICE_ROW : KINETO_SKIP;
	default:
		return KINETO_SKIP;
	}
}

/* Longer names are cut: of a template of C++ this much tells which it is. */
enum { NAME_MOST = 4096 };

static uint32_t intern(struct pp_intern *names, const struct kineto_value *v)
{
	size_t length = v->length;

	if (length > NAME_MOST)
		for (length = NAME_MOST; length > NAME_MOST - 4 && ((uint8_t)v->text[length] & 0xc0) == 0x80; length--)
			;
	return pp_intern_put(names, v->text, length);
}

/* A Python object's address is another one in each process: " at 0x7f9f150b40c0" is left out of names of events. */
static uint32_t intern_name(struct pp_intern *names, const struct kineto_value *v)
{
	const char *from = v->text, *end = from + v->length;
	char name[NAME_MOST];
	size_t length = 0;

	if (v->length > NAME_MOST || !memmem(from, v->length, " at 0x", 6))
		return intern(names, v);
	while (from < end) {
		const char *digit = (size_t)(end - from) > 6 && !memcmp(from, " at 0x", 6) ? from + 6 : NULL;

		if (digit && isxdigit((unsigned char)*digit))
			for (from = digit; from < end && isxdigit((unsigned char)*from);)
				from++;
		else
			name[length++] = *from++;
	}
	return pp_intern_put(names, name, length);
}

static int set_key(kineto_key *to, const struct kineto_value *v, struct pp_intern *names)
{
	int64_t number;

	if (!v->text) /* null: not given */
		return 0;
	if (!pp_kineto_integer(v->text, v->length, &number))
		*to = (kineto_key)number << 1;
	else /* also a number that is too large, as a hash of a thread may be: it tells threads apart as well */
		*to = kineto_key_of_text(intern(names, v));
	return 0;
}

static int set_time(struct kineto_event *e, uint32_t field, int64_t *to, const struct kineto_value *v)
{
	if (v->text && !pp_kineto_ns(v->text, v->length, to)) { /* a text with a number too */
		e->fields |= field;
		return 0;
	}
	e->fields |= KINETO_BAD_TIME;
	return v->text ? -1 : 0; /* NaN was counted */
}

static int set_event(struct kineto_event *e, int key, const struct kineto_value *v, struct pp_intern *names)
{
	switch (key) {
	case EVENT_PHASE:
		e->phase = (char)(v->is_string && v->length == 1 ? v->text[0] : '\0');
		return e->phase ? 0 : -1;
	case EVENT_CATEGORY:
		e->category = v->is_string ? (uint8_t)pp_kineto_category(v->text, v->length) : KINETO_OTHER;
		return v->text && !v->is_string;
	case EVENT_NAME: /* a number is a name too, but none that a profiler writes */
		e->name = v->text ? intern_name(names, v) : 0;
		return v->text && !v->is_string;
	case EVENT_PID:
		return set_key(&e->pid, v, names);
	case EVENT_TID:
		return set_key(&e->tid, v, names);
	case EVENT_TS:
		return set_time(e, KINETO_TS, &e->ts, v);
	case EVENT_DUR:
		return set_time(e, KINETO_DUR, &e->dur, v);
	case EVENT_ARGS:
		return v->text != NULL;
	default:
		return 0;
	}
}

/* Text that is no number of JSON is refused before. */
static int set_real(double *to, const struct kineto_value *v)
{
	char copy[64];
	char *end;

	if (v->length >= sizeof(copy))
		return 1;
	memcpy(copy, v->text, v->length);
	copy[v->length] = '\0';
	*to = strtod(copy, &end);
	return end == copy;
}

/* A queue's number, or its address in hexadecimal, or any other name of it. */
static int set_queue(int64_t *to, const struct kineto_value *v, struct pp_intern *names)
{
	char copy[32], *end;

	if (!pp_kineto_integer(v->text, v->length, to))
		return 0;
	if (!v->is_string || !v->length)
		return 1;
	if (v->length > 2 && v->length < sizeof(copy) && v->text[0] == '0' && (v->text[1] == 'x' || v->text[1] == 'X')) {
		memcpy(copy, v->text, v->length);
		copy[v->length] = '\0';
		*to = (int64_t)strtoull(copy, &end, 16);
		if (!*end)
			return 0;
	}
	*to = (int64_t)intern(names, v) | KINETO_NAMED_QUEUE;
	return 0;
}

/* One of up to three numbers; a text has all of them: "[1, 2, 3]". */
static int set_vector(int64_t *to, const struct kineto_value *v, size_t index)
{
	size_t n = index;

	if (index >= 3)
		return 0;
	if (!pp_kineto_integer(v->text, v->length, &to[index]))
		return 0;
	for (size_t at = 0; v->is_string && at < v->length && n < 3;) {
		size_t digits = 0;

		while (at + digits < v->length && v->text[at + digits] >= '0' && v->text[at + digits] <= '9')
			digits++;
		if (digits && pp_kineto_integer(v->text + at, digits, &to[n++]))
			return 1;
		at += digits ? digits : 1;
	}
	return n == index;
}

static int set_member(struct kineto_event *e, const struct kineto_argument *m, size_t index, const struct kineto_value *v,
                      struct pp_intern *names)
{
	char *to = (char *)e + m->at;
	int bad = 1;

	if (!v->text) /* null, true, false: not given */
		return 0;
	switch ((enum kineto_type)m->type) {
	case KINETO_INTEGER:
		bad = pp_kineto_integer(v->text, v->length, (int64_t *)(void *)to);
		break;
	case KINETO_VECTOR:
		bad = set_vector((int64_t *)(void *)to, v, index);
		break;
	case KINETO_UNSIGNED:
		bad = pp_kineto_unsigned(v->text, v->length, (uint64_t *)(void *)to);
		break;
	case KINETO_REAL:
		bad = set_real((double *)(void *)to, v);
		break;
	case KINETO_TEXT:
		*(uint32_t *)(void *)to = intern(names, v);
		bad = 0;
		break;
	case KINETO_QUEUE_NAME:
		bad = set_queue((int64_t *)(void *)to, v, names);
		break;
	case KINETO_LISTS: /* json.c takes them */
		break;
	}
	if (bad)
		return 1;
	e->fields |= m->field;
	return 0;
}

int pp_kineto_set(struct kineto_event *e, enum kineto_place place, int key, size_t index, const struct kineto_value *v,
                  struct pp_intern *names)
{
	const struct kineto_argument *row;

	if (place == KINETO_EVENT)
		return set_event(e, key, v, names);
	if (!key)
		return 0;
	row = pp_kineto_argument_row(key);
	if (place == KINETO_ARG_LIST && row->type != KINETO_VECTOR) /* one that is no list: counted once */
		return index == 0;
	return set_member(e, row, index, v, names);
}
