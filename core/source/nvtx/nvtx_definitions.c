/* What NVTX registered, as rows of a log; see nvtx_definitions.h. Called by nvtx_payload.c and nvtx_resource.c. */
#include "core/source/nvtx/nvtx_definitions.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "core/ring/thread_ring.h"

enum { MOST_ENTRIES = 256 };

#define DYNAMIC_IDS (UINT64_C(1) << 32) /* ids that a tool gives begin here */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t log_words[PP_RING_DEFINITIONS / 8];
static _Atomic uint32_t used;
static struct pp_ring_header *published;
static uint64_t next_id = DYNAMIC_IDS;

/* A row holds its complete name or is not kept: room() refuses what is longer than the log. */
static size_t name_bytes(const char *name)
{
	return name ? strnlen(name, PP_RING_DEFINITIONS) : 0;
}

/* Lock held: place for a row of so many bytes; NULL: no room left, counted. */
static struct pp_ring_definition *room(size_t bytes)
{
	uint32_t at = atomic_load_explicit(&used, memory_order_relaxed);

	if (bytes > PP_RING_DEFINITIONS - at) {
		pp_ring_lose(PP_LOSS_NAME_CUT);
		return NULL;
	}
	memset((char *)log_words + at, 0, bytes);
	return (struct pp_ring_definition *)((char *)log_words + at);
}

/* Lock held: the row is complete. */
static void commit(struct pp_ring_definition *n, size_t bytes)
{
	uint32_t at = atomic_load_explicit(&used, memory_order_relaxed);

	n->bytes = (uint16_t)bytes;
	if (published && !pp_rings_are_copied()) {
		memcpy((char *)published->definition + at, n, bytes);
		pp_ring_set_definitions_used(published, at + (uint32_t)bytes);
	}
	atomic_store_explicit(&used, at + (uint32_t)bytes, memory_order_release);
}

static const struct pp_ring_definition *find(enum pp_ring_definition_kind kind, uint16_t domain, uint64_t id)
{
	uint32_t end = atomic_load_explicit(&used, memory_order_acquire);
	const struct pp_ring_definition *n;

	for (uint32_t at = 0; at < end; at += n->bytes) {
		n = (const struct pp_ring_definition *)((const char *)log_words + at);
		/* Ids that a tool gave are unique; the application's may repeat in another domain. */
		if (n->kind == kind && n->id == id && (n->domain == domain || id >= DYNAMIC_IDS))
			return n;
	}
	return NULL;
}

static size_t round_up(size_t bytes)
{
	return (bytes + 7) & ~(size_t)7;
}

struct list { /* entries of a schema or of an enumeration */
	const struct pp_nvtx_entry *entry;
	const struct pp_nvtx_enumerator *value;
	size_t count;
};

static const char *list_name(const struct list *l, size_t i)
{
	return l->entry ? l->entry[i].name : l->value[i].name;
}

static uint32_t short_of(uint64_t value)
{
	return value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

/* Lock held. `n` has kind, domain, id, detail and width. */
static void add_list(const struct pp_ring_definition *head, const struct list *l, const char *name)
{
	size_t bytes = sizeof(struct pp_ring_definition) + l->count * sizeof(struct pp_ring_entry) + name_bytes(name);
	struct pp_ring_definition *n;
	struct pp_ring_entry *e;
	char *text;

	if (l->count > MOST_ENTRIES) {
		pp_ring_lose(PP_LOSS_NAME_CUT);
		return;
	}
	for (size_t i = 0; i < l->count; i++)
		bytes += name_bytes(list_name(l, i));
	bytes = round_up(bytes);
	n = room(bytes);
	if (!n)
		return;
	*n = *head;
	n->count = (uint16_t)l->count;
	n->name = (uint16_t)name_bytes(name);
	e = (struct pp_ring_entry *)(n + 1);
	text = (char *)(e + l->count);
	for (size_t i = 0; i < l->count; i++) {
		size_t length = name_bytes(list_name(l, i));

		e[i].name = (uint32_t)length;
		e[i].type = l->entry ? l->entry[i].type : l->value[i].value;
		e[i].flags = l->entry ? short_of(l->entry[i].flags) : l->value[i].is_flag != 0;
		e[i].detail = l->entry ? short_of(l->entry[i].detail) : 0;
		e[i].offset = l->entry ? short_of(l->entry[i].offset) : 0;
		if (length)
			memcpy(text, list_name(l, i), length);
		text += length;
	}
	if (name && n->name)
		memcpy(text, name, n->name);
	commit(n, bytes);
}

static uint64_t give_id(uint64_t own, uint64_t foreign)
{
	return foreign ? foreign : own ? own : next_id++;
}

uint64_t pp_nvtx_schema_register(uint16_t domain, const struct pp_nvtx_schema *s, uint64_t foreign)
{
	struct pp_ring_definition head = {.kind = PP_DEFINITION_SCHEMA, .domain = domain};
	struct list l = {0};

	if (!s)
		return foreign;
	pthread_mutex_lock(&lock);
	head.id = give_id(s->fields & PP_NVTX_SCHEMA_ID ? s->id : 0, foreign);
	if (s->fields & PP_NVTX_SCHEMA_SIZE)
		head.detail = short_of(s->size);
	if (s->fields & PP_NVTX_SCHEMA_ALIGN && s->align < 256)
		head.width = (uint8_t)s->align;
	/* The keeper reads flat structs only: no entry of others (dynamic, unions) is kept, so they stay plain bytes. */
	if (s->fields & PP_NVTX_SCHEMA_ENTRIES && s->fields & PP_NVTX_SCHEMA_NUM_ENTRIES && s->entry &&
	    (!(s->fields & PP_NVTX_SCHEMA_TYPE) || s->type == 1)) {
		l.entry = s->entry;
		l.count = s->entries;
	}
	if (!find(PP_DEFINITION_SCHEMA, domain, head.id))
		add_list(&head, &l, s->fields & PP_NVTX_SCHEMA_NAME ? s->name : NULL);
	pthread_mutex_unlock(&lock);
	return head.id;
}

uint64_t pp_nvtx_enum_register(uint16_t domain, const struct pp_nvtx_enum *e, uint64_t foreign)
{
	struct pp_ring_definition head = {.kind = PP_DEFINITION_ENUM, .domain = domain};
	struct list l = {0};

	if (!e)
		return foreign;
	pthread_mutex_lock(&lock);
	head.id = give_id(e->fields & PP_NVTX_ENUM_ID ? e->id : 0, foreign);
	head.detail = e->fields & PP_NVTX_ENUM_SIZE ? short_of(e->size) : sizeof(int);
	if (e->fields & PP_NVTX_ENUM_ENTRIES && e->fields & PP_NVTX_ENUM_NUM_ENTRIES && e->entry) {
		l.value = e->entry;
		l.count = e->entries;
	}
	if (!find(PP_DEFINITION_ENUM, domain, head.id))
		add_list(&head, &l, e->fields & PP_NVTX_ENUM_NAME ? e->name : NULL);
	pthread_mutex_unlock(&lock);
	return head.id;
}

static int is_named_so(const struct pp_ring_definition *n, uint16_t domain, uint32_t what, uint64_t handle, const char *name,
                       size_t length)
{
	return n->kind == PP_DEFINITION_NAME && n->domain == domain && n->detail == what && n->id == handle && n->name == length &&
	       !memcmp(n + 1, name, length);
}

void pp_nvtx_handle_name(uint16_t domain, uint32_t what, uint64_t handle, const char *name)
{
	size_t length = name_bytes(name), bytes = round_up(sizeof(struct pp_ring_definition) + length);
	struct pp_ring_definition *n;
	uint32_t end;

	if (!length)
		return;
	pthread_mutex_lock(&lock);
	end = atomic_load_explicit(&used, memory_order_relaxed);
	/* Loops name the same stream again and again. */
	for (uint32_t at = 0; at < end; at += n->bytes) {
		n = (struct pp_ring_definition *)((char *)log_words + at);
		if (is_named_so(n, domain, what, handle, name, length))
			goto unlock;
	}
	n = room(bytes);
	if (n) {
		*n = (struct pp_ring_definition){
		        .kind = PP_DEFINITION_NAME, .domain = domain, .id = handle, .detail = what, .name = (uint16_t)length};
		memcpy(n + 1, name, length);
		commit(n, bytes);
	}
unlock:
	pthread_mutex_unlock(&lock);
}

size_t pp_nvtx_schema_size(uint16_t domain, uint64_t schema)
{
	const struct pp_ring_definition *n = find(PP_DEFINITION_SCHEMA, domain, schema);

	return n ? n->detail : 0;
}

const char *pp_nvtx_schema_name(uint16_t domain, uint64_t schema, size_t *ret_length)
{
	const struct pp_ring_definition *n = find(PP_DEFINITION_SCHEMA, domain, schema);
	const struct pp_ring_entry *e;
	const char *text;

	*ret_length = 0;
	if (!n || !n->name)
		return "";
	e = (const struct pp_ring_entry *)(n + 1);
	text = (const char *)(e + n->count);
	for (size_t i = 0; i < n->count; i++)
		text += e[i].name;
	*ret_length = n->name;
	return text;
}

void pp_nvtx_definitions_publish(void)
{
	uint32_t n;

	pthread_mutex_lock(&lock);
	published = pp_ring_pool.header;
	n = atomic_load_explicit(&used, memory_order_relaxed);
	memcpy(published->definition, log_words, n);
	pp_ring_set_definitions_used(published, n);
	pthread_mutex_unlock(&lock);
}

void pp_nvtx_definitions_child(void)
{
	pthread_mutex_init(&lock, NULL);
}
