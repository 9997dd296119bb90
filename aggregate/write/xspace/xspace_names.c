/* Writes the metadata of an XSpace plane. xprof recognises events by their names alone: user names that equal its own are
 * escaped here. Called by xspace.c and xspace_rank.c. */
#include "aggregate/write/xspace/xspace_names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/source/mpi_call.h"
#include "core/step/category.h"

enum { FIRST_SLOTS = 1024, NAME_BYTES = 128 };

static const char *const stat_name[PP_XSTAT_FIXED] = {
        [PP_XSTAT_GROUP_ID] = "group_id",
        [PP_XSTAT_STEP_NAME] = "step_name",
        [PP_XSTAT_STEP] = "step",
        [PP_XSTAT_BYTES] = "bytes",
        [PP_XSTAT_RECEIVED] = "bytes_received",
        [PP_XSTAT_COMM] = "comm",
        [PP_XSTAT_SEQUENCE] = "sequence",
        [PP_XSTAT_POLLS] = "polls",
        [PP_XSTAT_PEER] = "peer",
        [PP_XSTAT_REQUEST] = "request",
        [PP_XSTAT_CATEGORY] = "category",
        [PP_XSTAT_VALUE] = "value",
        [PP_XSTAT_CUT] = "cut",
        [PP_XSTAT_FILE] = "file",
        [PP_XSTAT_PAYLOAD] = "payload",
        [PP_XSTAT_RSS] = "rss",
        [PP_XSTAT_PSS] = "pss",
        [PP_XSTAT_CHILDREN_RSS] = "children_rss",
        [PP_XSTAT_CLOCK] = "clock",
        [PP_XSTAT_CLOCK_BOUND] = "clock_bound_ns",
};

int pp_xnames_init(struct pp_xnames *x, const struct pp_intern *names, struct pp_err *err)
{
	*x = (struct pp_xnames){.names = names, .slots = FIRST_SLOTS};
	x->slot = calloc(x->slots, sizeof(*x->slot));
	if (!x->slot)
		return pp_err_set(err, -ENOMEM, "no memory for the names of an XSpace");
	return 0;
}

void pp_xnames_release(struct pp_xnames *x)
{
	free(x->slot);
	x->slot = NULL;
}

static struct pp_xname_slot *find(struct pp_xname_slot *slot, size_t slots, uint32_t class, uint64_t key)
{
	uint64_t h = (key ^ (uint64_t) class << 40) * 0x9e3779b97f4a7c15ull;
	size_t i = (size_t)(h >> 20) & (slots - 1);

	while (slot[i].class && (slot[i].class != class || slot[i].key != key))
		i = (i + 1) & (slots - 1);
	return &slot[i];
}

static int grow(struct pp_xnames *x)
{
	size_t slots = x->slots * 2;
	struct pp_xname_slot *to = calloc(slots, sizeof(*to));

	if (!to)
		return -ENOMEM;
	for (size_t i = 0; i < x->slots; i++)
		if (x->slot[i].class)
			*find(to, slots, x->slot[i].class, x->slot[i].key) = x->slot[i];
	free(x->slot);
	x->slot = to;
	x->slots = slots;
	return 0;
}

uint32_t pp_xnames_put(struct pp_xnames *x, uint32_t class, uint64_t key)
{
	struct pp_xname_slot *s = find(x->slot, x->slots, class, key);

	if (s->class)
		return s->id;
	if (x->used * 2 >= x->slots) {
		if (grow(x)) {
			x->no_memory = 1;
			return 1;
		}
		s = find(x->slot, x->slots, class, key);
	}
	x->used++;
	*s = (struct pp_xname_slot){key, class, class >= PP_XNAMES_TEXT ? PP_XSTAT_FIXED - 1 + ++x->texts : ++x->events};
	return s->id;
}

int pp_xname_is_special(const char *name)
{
	static const char *const marker[] = {"train", "test", "TraceContext"};
	static const char *const executor[] = {"EagerExecute",     "EagerLocalExecute",  "EagerKernelExecute", "FunctionRun",
	                                       "MemoryAllocation", "MemoryDeallocation", "InfeedEnqueue"};
	static const char *const caseless[] = {"IteratorGetNext", "MemcpyHToD", "MemcpyHToH", "MemcpyDToH", "MemcpyDToD"};

	for (size_t i = 0; i < sizeof(marker) / sizeof(marker[0]); i++)
		if (!strncmp(name, marker[i], strlen(marker[i])) && !strchr(name, '/'))
			return 1;
	for (size_t i = 0; i < sizeof(executor) / sizeof(executor[0]); i++)
		if (!strncmp(name, executor[i], strlen(executor[i])))
			return 1;
	for (size_t i = 0; i < sizeof(caseless) / sizeof(caseless[0]); i++)
		if (!strncasecmp(name, caseless[i], strlen(caseless[i])))
			return 1;
	return !strcmp(name, "Iterator");
}

/* name = prefix + text + suffix; display_name = text where the name differs from it and is not the label. */
static void write_names(struct pp_xstream *s, const char *prefix, const char *text, size_t length, const char *suffix, int label)
{
	size_t before = strlen(prefix), after = strlen(suffix);
	char small[NAME_BYTES + 32];
	char *name = small;

	if (!before && !after) {
		pp_xstream_text(s, PP_XMETA_NAME, text, length);
		return;
	}
	if (before + length + after > sizeof(small))
		name = malloc(before + length + after);
	if (name) {
		memcpy(name, prefix, before);
		memcpy(name + before, text, length);
		/* NOLINTNEXTLINE(bugprone-not-null-terminated-result): bytes with a length */
		memcpy(name + before + length, suffix, after);
		pp_xstream_text(s, PP_XMETA_NAME, name, before + length + after);
	} else { /* the prefix decides the class; the text stays the label */
		pp_xstream_text(s, PP_XMETA_NAME, prefix, before);
	}
	if (label)
		pp_xstream_text(s, PP_XMETA_DISPLAY_NAME, text, length);
	if (name != small)
		free(name);
}

static const char *text_of(const struct pp_xnames *x, uint64_t key, size_t *ret_length)
{
	const char *call;

	if (!(key & PP_XNAME_KEY_CALL))
		return pp_intern_text(x->names, (uint32_t)key, ret_length);
	call = pp_mpi_call_info((unsigned)(key & 0xffff))->name;
	*ret_length = strlen(call);
	return call;
}

/* xprof's own form of input operators. */
static int is_iterator(const char *text)
{
	return !strncmp(text, "Iterator::", strlen("Iterator::"));
}

/* A range as no operator: xprof takes any "name:Type" for one, but no type with a blank. */
static void write_range(struct pp_xstream *s, const char *text, size_t length)
{
	const char *blank = memchr(text, ':', length) && !is_iterator(text) ? " " : "";

	write_names(s, pp_xname_is_special(text) ? "range/" : "", text, length, blank, 1);
}

/* "name:type", the form of xprof's operators: the category is the type, and in the name colons become one dot (aten.add). */
static void write_operator(const struct pp_xnames *x, struct pp_xstream *s, uint64_t key)
{
	size_t length, n = 0;
	const char *text = text_of(x, (uint32_t)key, &length);
	char type[40], *name = length && !is_iterator(text) ? malloc(length + 1) : NULL;

	if (!name) { /* shown, but no operator of ours */
		write_range(s, text, length);
		return;
	}
	for (size_t i = 0; i < length; i++)
		if (text[i] != ':')
			name[n++] = text[i];
		else if (!i || text[i - 1] != ':')
			name[n++] = '.';
	name[n] = '\0';
	snprintf(type, sizeof(type), ":%s", pp_category_name((int)(key >> 32)));
	for (char *c = type; *c; c++)
		*c = (char)(*c == ' ' ? '_' : *c >= 'A' && *c <= 'Z' ? *c + 'a' - 'A' : *c);
	write_names(s, pp_xname_is_special(text) ? "range/" : "", name, n, type, 0);
	pp_xstream_text(s, PP_XMETA_DISPLAY_NAME, text, length);
	free(name);
}

/* The name of a breakdown segment gives xprof its category: "Input" by name, everything else is host compute there. */
static void write_breakdown(const struct pp_xnames *x, struct pp_xstream *s, const struct pp_xname_slot *n)
{
	int category = (int)(n->class - PP_XNAME_BREAKDOWN);
	char prefix[64];
	size_t length;
	const char *text = text_of(x, n->key, &length);

	if (category == PP_CATEGORY_INPUT)
		snprintf(prefix, sizeof(prefix), "IteratorGetNext/");
	else
		snprintf(prefix, sizeof(prefix), "%s/", pp_category_name(category));
	write_names(s, prefix, text, length, memchr(text, ':', length) ? " " : "", 1);
}

static void write_event(const struct pp_xnames *x, struct pp_xstream *s, const struct pp_xname_slot *n)
{
	char small[NAME_BYTES];
	const char *text;
	size_t length;

	switch (n->class) {
	case PP_XNAME_RANGE:
		text = pp_intern_text(x->names, (uint32_t)n->key, &length);
		write_range(s, text, length);
		break;
	case PP_XNAME_CALL:
		text = pp_mpi_call_info((unsigned)n->key)->name;
		write_names(s, "", text, strlen(text), "", 1);
		break;
	case PP_XNAME_STEP:
		snprintf(small, sizeof(small), "step %" PRId64, (int64_t)n->key);
		write_names(s, "", small, strlen(small), "", 1);
		break;
	case PP_XNAME_COUNTER:
		text = pp_intern_text(x->names, (uint32_t)n->key, &length);
		snprintf(small, sizeof(small), "rank %" PRIu64 " ", n->key >> 32);
		write_names(s, small, text, length, "", 0);
		break;
	case PP_XNAME_MEMORY:
		snprintf(small, sizeof(small), "rank %" PRIu64 " memory", n->key);
		write_names(s, "", small, strlen(small), "", 1);
		break;
	case PP_XNAME_EMPTY_STEP:
		text = "podprof: this step has no host compute";
		write_names(s, "", text, strlen(text), "", 1);
		break;
	case PP_XNAME_OPERATOR:
		write_operator(x, s, n->key);
		break;
	default:
		write_breakdown(x, s, n);
	}
}

static void write_stat(struct pp_xstream *s, uint32_t id, const char *name, size_t length)
{
	uint64_t entry = pp_xstream_begin(s, PP_XPLANE_STAT_METADATA), meta;

	pp_xstream_varint(s, 1, id);
	meta = pp_xstream_begin(s, 2);
	pp_xstream_varint(s, PP_XMETA_ID, id);
	pp_xstream_text(s, PP_XMETA_NAME, name, length);
	pp_xstream_end(s, meta);
	pp_xstream_end(s, entry);
}

/* A file whose name equals a stat's gets a different one. */
static void write_file(const struct pp_xnames *x, struct pp_xstream *s, const struct pp_xname_slot *n)
{
	char small[NAME_BYTES];
	size_t length;
	const char *text = pp_intern_text(x->names, (uint32_t)n->key, &length);

	for (uint32_t i = 1; i < PP_XSTAT_FIXED; i++) {
		if (strcmp(text, stat_name[i]) == 0) {
			length = (size_t)snprintf(small, sizeof(small), "./%s", text);
			text = small;
			break;
		}
	}
	write_stat(s, n->id, text, length);
}

static void write_text(const struct pp_xnames *x, struct pp_xstream *s, const struct pp_xname_slot *n)
{
	char small[NAME_BYTES];
	const char *text = small;
	int at;

	switch (n->class - PP_XNAMES_TEXT) {
	case PP_XTEXT_COMM:
		snprintf(small, sizeof(small), "%016" PRIx64, n->key);
		break;
	case PP_XTEXT_CATEGORY:
		text = pp_category_name((int)n->key);
		break;
	case PP_XTEXT_FILE:
		write_file(x, s, n);
		return;
	case PP_XTEXT_PAYLOAD:
		text = pp_intern_text(x->payloads, (uint32_t)n->key, NULL);
		break;
	case PP_XTEXT_NUMBER:
		text = n->key == 0 ? "nan" : n->key == 1 ? "inf" : "-inf";
		break;
	case PP_XTEXT_STEP:
		at = snprintf(small, sizeof(small), "step %" PRId64, (int64_t)n->key);
		if (x->steps_of >= 0)
			snprintf(small + at, sizeof(small) - (size_t)at, " of rank %" PRId32, x->steps_of);
		break;
	default:
		text = n->key == 1 ? "begin" : n->key == 2 ? "end" : "begin and end";
	}
	write_stat(s, n->id, text, strlen(text));
}

void pp_xnames_write(const struct pp_xnames *x, struct pp_xstream *s)
{
	for (uint32_t i = 1; i < PP_XSTAT_FIXED; i++)
		write_stat(s, i, stat_name[i], strlen(stat_name[i]));
	for (size_t i = 0; i < x->slots; i++) {
		const struct pp_xname_slot *n = &x->slot[i];
		uint64_t entry, meta;

		if (!n->class)
			continue;
		if (n->class >= PP_XNAMES_TEXT) {
			write_text(x, s, n);
			continue;
		}
		entry = pp_xstream_begin(s, PP_XPLANE_EVENT_METADATA);
		pp_xstream_varint(s, 1, n->id);
		meta = pp_xstream_begin(s, 2);
		pp_xstream_varint(s, PP_XMETA_ID, n->id);
		write_event(x, s, n);
		pp_xstream_end(s, meta);
		pp_xstream_end(s, entry);
	}
}
