/* Writes the metadata of an XSpace plane. xprof recognises events by their names alone: user names that equal its own are
 * escaped here. Called by the files of this folder. */
#include "aggregate/write/xspace/xspace_names.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/grow.h"
#include "core/call/mpi_call.h"
#include "core/capture/capture.h"
#include "core/capture/side.h"
#include "core/capture/span.h"
#include "core/step/category.h"

enum { NAME_BYTES = 128 };

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
        [PP_XSTAT_EDGE] = "edge",
        [PP_XSTAT_VALUE] = "value",
        [PP_XSTAT_CUT] = "cut",
        [PP_XSTAT_FILE] = "file",
        [PP_XSTAT_PAYLOAD] = "payload",
        [PP_XSTAT_RSS] = "rss",
        [PP_XSTAT_PSS] = "pss",
        [PP_XSTAT_CHILDREN_RSS] = "children_rss",
        [PP_XSTAT_CORRELATION] = "correlation_id",
        [PP_XSTAT_FLOW] = "flow",
        [PP_XSTAT_OP] = "tf_op",
        [PP_XSTAT_SHAPE] = "shape",
        [PP_XSTAT_KERNEL_DETAILS] = "kernel_details",
        [PP_XSTAT_LAUNCH] = "launch",
        [PP_XSTAT_COPY_DETAILS] = "memcpy_details",
        [PP_XSTAT_SET_DETAILS] = "Memset_details",
        [PP_XSTAT_ALLOCATOR] = "allocator_name",
        [PP_XSTAT_ADDRESS] = "addr",
        [PP_XSTAT_REQUESTED] = "requested_bytes",
        [PP_XSTAT_ALLOCATION] = "allocation_bytes",
        [PP_XSTAT_ALLOCATED] = "bytes_allocated",
        [PP_XSTAT_RESERVED] = "bytes_reserved",
        [PP_XSTAT_AVAILABLE] = "bytes_available",
        [PP_XSTAT_FRAGMENTATION] = "fragmentation",
        [PP_XSTAT_PEAK] = "peak_bytes_in_use",
        [PP_XSTAT_IS_COUNTED] = "is_counted",
        [PP_XSTAT_CLOCK] = "clock",
        [PP_XSTAT_CLOCK_BOUND] = "clock_bound_ns",
        [PP_XSTAT_VENDOR] = "device_vendor",
        [PP_XSTAT_DEVICE_NAME] = "gpu_device_name",
        [PP_XSTAT_CAPABILITY_MAJOR] = "compute_cap_major",
        [PP_XSTAT_CAPABILITY_MINOR] = "compute_cap_minor",
        [PP_XSTAT_MULTIPROCESSORS] = "core_count",
        [PP_XSTAT_CLOCK_RATE] = "clock_rate",
        [PP_XSTAT_BANDWIDTH] = "memory_bandwidth",
        [PP_XSTAT_MEMORY_SIZE] = "memory_size",
        [PP_XSTAT_NUMBER] = "number_in_process",
        [PP_XSTAT_TAG] = "tag",
        [PP_XSTAT_ORDER] = "order",
        [PP_XSTAT_SOURCE] = "source",
        [PP_XSTAT_SOURCE_TAG] = "source_tag",
        [PP_XSTAT_SOURCE_ORDER] = "source_order",
};

void pp_xnames_init(struct pp_xnames *x, const struct pp_capture *capture)
{
	*x = (struct pp_xnames){.names = capture->names, .payloads = capture->payloads};
}

void pp_xnames_release(struct pp_xnames *x)
{
	free(x->slot);
	free(x->map.place);
	x->slot = NULL;
	x->map = (struct pp_map){0};
}

static uint64_t hash(const void *row)
{
	const struct pp_xname_slot *s = row;

	return (uint32_t)((s->key ^ (uint64_t)s->class << 40) * PP_MAP_MIX >> 20); /* keys are small: their homes lie apart */
}

static int is_same(const void *row, const void *key)
{
	const struct pp_xname_slot *a = row, *b = key;

	return a->class == b->class && a->key == b->key;
}

uint32_t pp_xnames_put(struct pp_xnames *x, uint32_t class, uint64_t key)
{
	struct pp_xname_slot one = {key, class, 0}, *more;
	uint32_t *place = pp_map_place(&x->map, x->slot, x->used, sizeof(one), &one, hash, is_same);

	if (place && *place)
		return x->slot[*place - 1].id;
	more = place ? pp_grow(x->slot, x->used, &x->room, sizeof(one)) : NULL;
	if (!more) {
		x->no_memory = 1;
		return 1;
	}
	one.id = class >= PP_XNAMES_TEXT ? PP_XSTAT_FIXED - 1 + ++x->texts : ++x->events;
	x->slot = more;
	more[x->used] = one;
	*place = (uint32_t)++x->used;
	return one.id;
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

static void lower(char *type)
{
	for (char *c = type; *c; c++)
		*c = (char)(*c == ' ' ? '_' : *c >= 'A' && *c <= 'Z' ? *c + 'a' - 'A' : *c);
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
	lower(type);
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

/* The same on a device's plane, where xprof knows other names, and takes one with a colon for none of them. */
static void write_on_device(const struct pp_xnames *x, struct pp_xstream *s, const struct pp_xname_slot *n)
{
	static const char *const prefix[PP_CATEGORIES + 1] = {
	        [PP_CATEGORY_DEVICE_COMPUTE] = "Device compute/",
	        [PP_CATEGORY_DEVICE_TO_DEVICE] = "MemcpyDToD/",
	        [PP_CATEGORY_DEVICE_COLLECTIVE] = "nccl/",
	        [PP_CATEGORY_INPUT] = "MemcpyHToD/",
	        [PP_CATEGORY_OUTPUT] = "MemcpyDToH/",
	        [PP_CATEGORY_OTHER] = "All others/",
	};
	size_t length;
	const char *text = text_of(x, n->key, &length);
	char *name = malloc(length + 1);

	for (size_t i = 0; name && i < length; i++)
		name[i] = (char)(text[i] == ':' ? '.' : text[i]);
	write_names(s, prefix[n->class - PP_XNAME_ON_DEVICE], name ? name : "", name ? length : 0, "", 0);
	pp_xstream_text(s, PP_XMETA_DISPLAY_NAME, text, length);
	free(name);
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
		text = n->key ? "podprof: this step has no device compute" : "podprof: this step has no host compute";
		write_names(s, "", text, strlen(text), "", 1);
		break;
	case PP_XNAME_OPERATOR:
		write_operator(x, s, n->key);
		break;
	case PP_XNAME_ALLOCATION:
		text = n->key ? "MemoryDeallocation" : "MemoryAllocation";
		write_names(s, "", text, strlen(text), "", 1);
		break;
	case PP_XNAME_DEVICE:
		text = pp_intern_text(x->names, (uint32_t)n->key, &length);
		write_names(s, "", text, length, "", 1);
		break;
	default:
		if (n->class >= PP_XNAME_ON_DEVICE)
			write_on_device(x, s, n);
		else
			write_breakdown(x, s, n);
	}
}

static void write_described(struct pp_xstream *s, uint32_t id, const char *name, size_t length, const char *description,
                            size_t description_length)
{
	uint64_t entry = pp_xstream_begin(s, PP_XPLANE_STAT_METADATA), meta;

	pp_xstream_varint(s, 1, id);
	meta = pp_xstream_begin(s, 2);
	pp_xstream_varint(s, PP_XMETA_ID, id);
	pp_xstream_text(s, PP_XMETA_NAME, name, length);
	if (description_length)
		pp_xstream_text(s, PP_XMETA_DESCRIPTION, description, description_length);
	pp_xstream_end(s, meta);
	pp_xstream_end(s, entry);
}

static void write_stat(struct pp_xstream *s, uint32_t id, const char *name, size_t length)
{
	write_described(s, id, name, length, NULL, 0);
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

/* A letter of what xprof takes for an operator's name; *at counts those so far. */
static void put_letter(char *name, size_t *at, char c)
{
	const int begins = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.';

	if (!begins && c != '_' && c != '/' && c != '>' && c != '-')
		c = (char)(c == ':' ? '.' : '_');
	name[*at] = (char)(*at || begins || c == '.' ? c : '.');
	++*at;
}

/* "name:type" as xprof's operators are named, with the name itself as the description. What allocates is another operator: xprof
 * adds its calls to those of the same name. */
static void write_op(struct pp_xnames *x, struct pp_xstream *s, const struct pp_xname_slot *n)
{
	static const char allocate[] = "allocate/";
	const int allocates = n->class == PP_XNAMES_TEXT + PP_XTEXT_ALLOCATES;
	size_t length, at = 0;
	const char *text = pp_intern_text(x->names, (uint32_t)n->key, &length);
	char type[40], *name = malloc(length + sizeof(allocate) + sizeof(type));

	if (!name) {
		x->no_memory = 1;
		return;
	}
	snprintf(type, sizeof(type), ":%s", allocates ? "allocation" : pp_category_name((int)(n->key >> 32)));
	lower(type);
	for (const char *c = allocate; allocates && *c; c++)
		put_letter(name, &at, *c);
	for (size_t i = 0; i < length; i++)
		if (text[i] != ':' || !i || text[i - 1] != ':') /* aten::add is aten.add */
			put_letter(name, &at, text[i]);
	memcpy(name + at, type, strlen(type) + 1);
	write_described(s, n->id, name, strlen(name), text, length);
	free(name);
}

static void write_launch(const struct pp_xnames *x, struct pp_xstream *s, const struct pp_xname_slot *n)
{
	static const struct pp_launch unknown = {.occupancy = -1};
	const struct pp_launch *l = n->key && n->key <= x->rank->launches ? &x->rank->launch[n->key - 1] : &unknown;
	char text[256];
	int at = snprintf(text, sizeof(text), "regs:%u static_shared:%u dynamic_shared:%u grid:%u,%u,%u block:%u,%u,%u",
	                  l->registers, l->static_shared, l->dynamic_shared, l->grid[0], l->grid[1], l->grid[2], l->block[0],
	                  l->block[1], l->block[2]);

	if (l->occupancy >= 0)
		at += snprintf(text + at, sizeof(text) - (size_t)at, " occ_pct:%.9g", (double)l->occupancy);
	write_stat(s, n->id, text, (size_t)at);
}

static void write_allocator(struct pp_xnames *x, struct pp_xstream *s, const struct pp_xname_slot *n)
{
	const char *text = pp_intern_text(x->names, (uint32_t)n->key, NULL);
	char *name;

	if (asprintf(&name, "rank %" PRIu64 " %s", n->key >> 32, text) < 0) {
		x->no_memory = 1;
		return;
	}
	write_stat(s, n->id, name, strlen(name));
	free(name);
}

static void write_text(struct pp_xnames *x, struct pp_xstream *s, const struct pp_xname_slot *n)
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
	case PP_XTEXT_OP:
	case PP_XTEXT_ALLOCATES:
		write_op(x, s, n);
		return;
	case PP_XTEXT_LAUNCH:
		write_launch(x, s, n);
		return;
	case PP_XTEXT_ALLOCATOR:
		write_allocator(x, s, n);
		return;
	case PP_XTEXT_SHAPE:
		text = n->key == PP_PRECISION_16 ? "(half)" : "(float)";
		break;
	case PP_XTEXT_SIZE:
		snprintf(small, sizeof(small), "num_bytes:%" PRIu64, n->key);
		break;
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

void pp_xnames_write(struct pp_xnames *x, struct pp_xstream *s)
{
	for (uint32_t i = 1; i < PP_XSTAT_FIXED; i++)
		write_stat(s, i, stat_name[i], strlen(stat_name[i]));
	for (size_t i = 0; i < x->used; i++) {
		const struct pp_xname_slot *n = &x->slot[i];
		uint64_t entry, meta;

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
