/* Feeds libyajl, keeps the place in the file, and goes on behind damage; see json.h. Called by kineto.c. */
#include "aggregate/read/kineto/json.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <yajl/yajl_parse.h>

#include "aggregate/read/kineto/dialect.h"
#include "aggregate/read/kineto/fields.h"
#include "aggregate/read/kineto/number.h"
#include "aggregate/read/kineto/take.h"

enum { DEPTH_MOST = 4096, PLACES = 8, TOKEN_MOST = 1 << 22, LISTS_MOST = 512 };

enum search {
	SEARCH_NOTHING,
	SEARCH_LIST,  /* the key traceEvents */
	SEARCH_EVENT, /* the begin of an object in a list */
	SEARCH_OVER,  /* no more: what follows is another trace */
};

struct kineto_json {
	struct kineto_store *s;
	yajl_handle yajl;
	struct kineto_event event;
	struct kineto_keys keys;
	uint64_t offset;            /* of the bytes that yajl has */
	int depth;                  /* of open objects and lists */
	int list_depth;             /* inside the list of events; 0: it was not seen */
	int key;                    /* of the next value */
	int has_key;                /* in an object: a value is next */
	int is_empty;               /* no key of the event so far */
	int list_key;               /* of the list in args that is open */
	size_t index;               /* in it */
	char lists[LISTS_MOST + 4]; /* what an argument of lists in lists says so far */
	size_t lists_length;
	int lists_cut;
	int is_replay; /* a new yajl is brought to this place: calls have been handled */
	int no_memory;
	int called;      /* yajl has called since this was 0 */
	uint64_t silent; /* bytes since it did: yajl keeps them, and reads them again with each part */
	enum search search;
	char before, last;     /* the last two characters that are no blanks, of the part before */
	uint8_t place[PLACES]; /* enum kineto_place by depth */
	uint8_t is_list[DEPTH_MOST / 8];
	uint32_t counter_key; /* of the next value of a counter, pp_intern id; 0: it is none */
	struct kineto_value_of counter[KINETO_COUNTERS_MOST];
	size_t counters;
	int64_t device, memory; /* row of deviceProperties */
	uint32_t device_name;
};

static enum kineto_place place_of(const struct kineto_json *j)
{
	return j->depth < PLACES ? j->place[j->depth] : KINETO_SKIP;
}

/* Offset of the value that is read. */
static uint64_t here(const struct kineto_json *j)
{
	return j->offset + yajl_get_bytes_consumed(j->yajl);
}

static int is_list(const struct kineto_json *j, int depth)
{
	return j->is_list[depth / 8] >> depth % 8 & 1;
}

static int is_in_lists(const struct kineto_json *j)
{
	return place_of(j) == KINETO_ARG_LIST && pp_kineto_argument_row(j->list_key)->type == KINETO_LISTS;
}

/* What there is no room for becomes dots at its end. */
static void put_lists(struct kineto_json *j, const char *text, size_t length)
{
	j->lists_cut |= length > LISTS_MOST - j->lists_length;
	if (j->lists_cut)
		return;
	memcpy(j->lists + j->lists_length, text, length);
	j->lists_length += length;
}

static void put_item(struct kineto_json *j, const char *text, size_t length)
{
	if (j->lists_length && j->lists[j->lists_length - 1] != '[')
		put_lists(j, ",", 1);
	put_lists(j, text, length);
}

/* What is no list or number, or lies too deep, is not shown. */
static void begin_lists(struct kineto_json *j, int is_map)
{
	if (is_map || j->depth >= PLACES)
		put_item(j, is_map ? "{...}" : "[...]", 5);
	else
		put_item(j, "[", 1);
}

static int end_lists(struct kineto_json *j)
{
	static const char dots[] = "...";

	put_lists(j, "]", 1);
	if (place_of(j) != KINETO_ARGS)
		return 0;
	if (j->lists_cut) {
		memcpy(j->lists + j->lists_length, dots, sizeof(dots));
		j->lists_length += sizeof(dots) - 1;
	}
	if (!j->s->payloads)
		j->s->payloads = pp_intern_new();
	if (!j->s->payloads)
		return -ENOMEM;
	j->event.dims = pp_intern_put(j->s->payloads, j->lists, j->lists_length);
	return 0;
}

static int begin(struct kineto_json *j, int is_map)
{
	enum kineto_place place = KINETO_SKIP;
	int in_lists = 0;

	j->called = 1;
	if (j->is_replay)
		return 1;
	if (j->depth + 1 == DEPTH_MOST)
		return 0;
	in_lists = is_in_lists(j);
	if (j->depth && place_of(j) == KINETO_EVENT && j->key && pp_kineto_inside(KINETO_EVENT, j->key, is_map) == KINETO_SKIP)
		pp_kineto_mistyped(j->s, 0); /* a list as arguments, a list or an object as a name */
	if (!j->depth)
		place = is_map ? KINETO_TOP : KINETO_EVENTS;
	else if (place_of(j) != KINETO_SKIP)
		place = pp_kineto_inside(place_of(j), in_lists ? j->list_key : j->key, is_map);
	j->depth++;
	if (j->depth < PLACES)
		j->place[j->depth] = (uint8_t)place;
	j->is_list[j->depth / 8] &= (uint8_t) ~(1 << j->depth % 8);
	if (!is_map)
		j->is_list[j->depth / 8] |= (uint8_t)(1 << j->depth % 8);
	if (place == KINETO_EVENTS) {
		j->list_depth = j->depth;
	} else if (place == KINETO_EVENT) {
		memset(&j->event, 0, sizeof(j->event));
		j->is_empty = 1;
		j->counters = 0;
	} else if (place == KINETO_DEVICE_ROW) {
		j->device = -1, j->memory = 0, j->device_name = 0;
	}
	if (place == KINETO_ARG_LIST && !in_lists) {
		j->list_key = j->key;
		j->index = j->lists_length = 0;
		j->lists_cut = 0;
	}
	if (in_lists || is_in_lists(j))
		begin_lists(j, is_map);
	if (is_map && j->depth > 1 && j->depth <= PLACES && j->place[j->depth - 1] == KINETO_ARGS && j->key)
		pp_kineto_mistyped(j->s, j->key);
	j->has_key = 0;
	j->key = KINETO_UNKNOWN_KEY;
	j->counter_key = 0;
	return 1;
}

static int on_begin_map(void *context)
{
	return begin(context, 1);
}

static int on_begin_list(void *context)
{
	return begin(context, 0);
}

static int on_end(void *context)
{
	struct kineto_json *j = context;
	enum kineto_place place = place_of(j);
	int rc = 0;

	const int in_lists = is_in_lists(j);

	j->called = 1;
	if (j->is_replay)
		return 1;
	j->depth--;
	j->has_key = 0;
	j->key = KINETO_UNKNOWN_KEY;
	if (in_lists) {
		rc = end_lists(j);
	} else if (place == KINETO_EVENT) {
		if (j->counters)
			rc = pp_kineto_take_counters(j->s, &j->event, j->counter, j->counters);
		else if (j->event.phase)
			rc = pp_kineto_take(j->s, &j->event);
		else if (!j->is_empty) /* {} is the last of each of xprof's traces */
			pp_kineto_damage(j->s, here(j), "an event without phase");
	} else if (place == KINETO_DEVICE_ROW) {
		rc = pp_kineto_take_device(j->s, j->device, j->device_name, j->memory > 0 ? (uint64_t)j->memory : 0);
	}
	j->no_memory = rc != 0;
	return rc == 0;
}

static int on_key(void *context, const unsigned char *text, size_t length)
{
	struct kineto_json *j = context;
	enum kineto_place place = place_of(j);

	j->called = 1;
	if (j->is_replay)
		return 1;
	j->has_key = 1;
	if (place == KINETO_EVENT)
		j->is_empty = 0;
	if (place != KINETO_SKIP)
		j->key = pp_kineto_key_again(&j->keys, place, (const char *)text, length);
	j->counter_key = 0;
	if (place == KINETO_ARGS && (j->event.phase == 'C' || (j->event.category == KINETO_COUNTER && !j->key)))
		j->counter_key = pp_intern_put(j->s->names, (const char *)text, length);
	return 1;
}

/* A value of a counter, by the key before it. Its event has said before that it is one. */
static void take_counter(struct kineto_json *j, const struct kineto_value *v)
{
	struct kineto_value_of *c = &j->counter[j->counters];
	char copy[64], *end;

	if (!v->text || !v->length || v->length >= sizeof(copy) || j->counters == KINETO_COUNTERS_MOST)
		return;
	memcpy(copy, v->text, v->length);
	copy[v->length] = '\0';
	c->value = strtod(copy, &end);
	c->key = j->counter_key;
	j->counters += !*end && isfinite(c->value);
}

static int set_rank(struct kineto_json *j, const struct kineto_value *v)
{
	int64_t number;

	if (!v->text)
		return 0;
	if (pp_kineto_integer(v->text, v->length, &number) || number < 0 || number > PP_TRACE_RANKS_MOST)
		return 1;
	if (j->key == DISTRIBUTED_RANK) {
		j->s->rank = (int32_t)number;
		if (j->s->infos < KINETO_INFOS_MOST)
			j->s->info[j->s->infos++] = (int32_t)number;
	} else if (j->key == DISTRIBUTED_WORLD) {
		j->s->world = (int32_t)number;
	} else
		j->s->groups = (int32_t)number;
	return 0;
}

static int set_device(struct kineto_json *j, const struct kineto_value *v)
{
	if (j->key == DEVICE_NAME)
		j->device_name = v->is_string ? pp_intern_put(j->s->names, v->text, v->length) : 0;
	else
		return v->text && pp_kineto_integer(v->text, v->length, j->key == DEVICE_ID ? &j->device : &j->memory);
	return v->text && !v->is_string;
}

static int set_top(struct kineto_json *j, const struct kineto_value *v)
{
	if (j->key == TOP_SCHEMA)
		j->s->has_schema = 1;
	if (j->key == TOP_VERSION && v->is_string)
		j->s->version = pp_intern_put(j->s->names, v->text, v->length);
	if (j->key == TOP_BASE)
		return v->text && pp_kineto_integer(v->text, v->length, &j->s->base);
	return 0;
}

static int value(struct kineto_json *j, const char *text, size_t length, int is_string)
{
	const struct kineto_value v = {.text = text, .length = length, .is_string = is_string};
	enum kineto_place place = place_of(j);
	int bad = 0;

	j->called = 1;
	if (j->is_replay)
		return 1;
	if (place == KINETO_ARGS && j->counter_key)
		take_counter(j, &v);
	else if (is_in_lists(j))
		put_item(j, text ? text : "null", text ? length : 4);
	else if (place == KINETO_ARG_LIST)
		bad = pp_kineto_set(&j->event, place, j->list_key, j->index++, &v, j->s->names);
	else if (!j->key)
		bad = 0;
	else if (place == KINETO_EVENT || place == KINETO_ARGS)
		bad = pp_kineto_set(&j->event, place, j->key, 0, &v, j->s->names);
	else if (place == KINETO_DISTRIBUTED)
		bad = set_rank(j, &v);
	else if (place == KINETO_DEVICE_ROW)
		bad = set_device(j, &v);
	else if (place == KINETO_TOP)
		bad = set_top(j, &v);
	if (bad < 0)
		pp_kineto_damage(j->s, here(j), "a value of another type, or too large");
	else if (bad)
		pp_kineto_mistyped(j->s, place == KINETO_ARGS ? j->key : place == KINETO_ARG_LIST ? j->list_key : 0);
	j->has_key = 0;
	j->key = KINETO_UNKNOWN_KEY;
	return 1;
}

static int on_null(void *context)
{
	return value(context, NULL, 0, 0);
}

static int on_boolean(void *context, int truth)
{
	(void)truth;
	return value(context, NULL, 0, 0);
}

static int on_number(void *context, const char *text, size_t length)
{
	return value(context, text, length, 0);
}

static int on_string(void *context, const unsigned char *text, size_t length)
{
	return value(context, (const char *)text, length, 1);
}

static yajl_handle new_yajl(struct kineto_json *j)
{
	static const yajl_callbacks calls = {.yajl_null = on_null,
	                                     .yajl_boolean = on_boolean,
	                                     .yajl_number = on_number,
	                                     .yajl_string = on_string,
	                                     .yajl_start_map = on_begin_map,
	                                     .yajl_map_key = on_key,
	                                     .yajl_end_map = on_end,
	                                     .yajl_start_array = on_begin_list,
	                                     .yajl_end_array = on_end};
	yajl_handle yajl = yajl_alloc(&calls, NULL, j);

	if (yajl)
		yajl_config(yajl, yajl_dont_validate_strings, 1); /* names may hold any bytes */
	return yajl;
}

static int parse_text(struct kineto_json *j, const char *text)
{
	return yajl_parse(j->yajl, (const unsigned char *)text, strlen(text)) == yajl_status_ok ? 0 : -1;
}

/* yajl cannot go on after an error: a new one is brought to the objects and lists that are open. In the innermost one a value is
 * next, or (`has_value`) was read. */
static int restart(struct kineto_json *j, int has_value)
{
	int rc = 0;

	yajl_free(j->yajl);
	j->yajl = new_yajl(j);
	if (!j->yajl) {
		j->no_memory = 1;
		return -ENOMEM;
	}
	j->is_replay = 1;
	for (int d = 1; d <= j->depth && rc == 0; d++)
		rc = parse_text(j, is_list(j, d) ? "[" : "{\"\":");
	if (rc == 0 && has_value)
		rc = parse_text(j, "null");
	j->is_replay = 0;
	return rc;
}

/* Length of NaN, -Infinity, inf and so on; 0: it is none. */
static size_t no_number(const char *text, size_t length)
{
	static const char *const word[] = {"infinity", "inf", "nan"};
	size_t sign = length && (text[0] == '-' || text[0] == '+');

	for (size_t i = 0; i < sizeof(word) / sizeof(word[0]); i++) {
		size_t n = strlen(word[i]);

		if (length >= sign + n && !strncasecmp(text + sign, word[i], n))
			return sign + n;
	}
	return 0;
}

/* The last character before `at` that is no blank. */
static char char_before(const struct kineto_json *j, const char *text, size_t at)
{
	while (at > 0 && kineto_is_blank(text[at - 1]))
		at--;
	return (char)(at ? text[at - 1] : j->last);
}

static int expects_value(const struct kineto_json *j)
{
	return j->depth && (is_list(j, j->depth) || j->has_key);
}

/* yajl stopped at text[at]. Chooses how to go on, and returns from where. */
static size_t repair(struct kineto_json *j, const char *text, size_t length, size_t at, uint64_t offset)
{
	size_t n = expects_value(j) ? no_number(text + at, length - at) : 0;
	const int is_second = !j->depth && j->list_depth && j->place[1] == KINETO_TOP && text[at] == '{';
	char closing = j->depth && is_list(j, j->depth) ? ']' : '}';

	if (n) {
		pp_kineto_damage(j->s, offset, "a number that is NaN or infinite");
		if (restart(j, 0) == 0 && parse_text(j, "null") == 0)
			return at + n;
	} else if (j->depth && text[at] == closing && char_before(j, text, at) == ',') { /* a comma too many is no loss */
		if (restart(j, 1) == 0)
			return at;
	} else if (is_second) { /* of another time, perhaps with the same steps */
		pp_kineto_damage(j->s, offset, "a second trace behind the first, which is not read");
		j->search = SEARCH_OVER;
		return at;
	} else {
		pp_kineto_damage(j->s, offset, j->depth + 1 == DEPTH_MOST ? "values in values, too deep" : "text that is not JSON");
	}
	j->search = j->list_depth ? SEARCH_EVENT : SEARCH_LIST;
	j->before = j->last = 0;
	return at;
}

/* A text or number without an end does not fill memory. */
static void limit_token(struct kineto_json *j, size_t length)
{
	j->silent = j->called ? 0 : j->silent + length;
	j->called = 0;
	if (j->silent <= TOKEN_MOST)
		return;
	pp_kineto_damage(j->s, j->offset, "more than 4 MiB without a value");
	j->search = j->list_depth ? SEARCH_EVENT : SEARCH_LIST;
	j->silent = 0;
	j->before = j->last = 0;
}

/* Searches from there; returns from where yajl goes on. */
static size_t search(struct kineto_json *j, const char *text, size_t length, size_t from)
{
	static const char list[] = "\"traceEvents\"";
	const char *found;

	if (j->search == SEARCH_OVER)
		return length;
	if (j->search == SEARCH_LIST) {
		found = memmem(text + from, length - from, list, sizeof(list) - 1);
		if (!found)
			return length;
		j->search = SEARCH_NOTHING;
		j->depth = 0;
		restart(j, 0);
		parse_text(j, "{");
		return (size_t)(found - text);
	}
	for (size_t i = from; i < length; i++) {
		if (kineto_is_blank(text[i]))
			continue;
		if (text[i] == '"' && j->last == '{' && (j->before == ',' || j->before == '[' || j->before == '}' || !j->before)) {
			j->search = SEARCH_NOTHING;
			j->depth = j->list_depth;
			j->place[j->depth] = KINETO_EVENTS;
			j->is_list[0] |= (uint8_t)(1 << j->depth);
			restart(j, 0);
			parse_text(j, "{");
			return i;
		}
		j->before = j->last;
		j->last = text[i];
	}
	return length;
}

int pp_kineto_json_feed(struct kineto_json *j, const char *text, size_t length)
{
	const uint64_t begin = j->offset;
	size_t from = 0;
	char last = char_before(j, text, length);

	while (from < length && !j->no_memory) {
		if (j->search != SEARCH_NOTHING) {
			from = search(j, text, length, from);
		} else if (yajl_parse(j->yajl, (const unsigned char *)text + from, length - from) == yajl_status_ok) {
			limit_token(j, length - from);
			from = length;
		} else if (!j->no_memory) {
			size_t done = yajl_get_bytes_consumed(j->yajl);

			from += done ? done - 1 : 0;
			from = repair(j, text, length, from, begin + from);
		}
		j->offset = begin + from;
	}
	if (j->search != SEARCH_EVENT)
		j->last = last;
	return j->no_memory ? -ENOMEM : 0;
}

void pp_kineto_json_end(struct kineto_json *j)
{
	int at_event = j->depth && j->depth == j->list_depth;

	if (j->search != SEARCH_NOTHING || !j->depth)
		return;
	if (at_event && j->depth == 1) /* Chrome's list needs no end */
		return;
	pp_kineto_damage(j->s, j->offset,
	                 !j->list_depth             ? "the file ends before its events"
	                 : j->depth < j->list_depth ? "the file ends behind its events"
	                                            : "the file ends among its events");
}

struct kineto_json *pp_kineto_json_new(struct kineto_store *s)
{
	struct kineto_json *j = calloc(1, sizeof(*j));

	if (!j)
		return NULL;
	j->s = s;
	j->yajl = new_yajl(j);
	if (!j->yajl) {
		free(j);
		return NULL;
	}
	return j;
}

void pp_kineto_json_free(struct kineto_json *j)
{
	if (!j)
		return;
	yajl_free(j->yajl);
	free(j);
}
