/* Numbers of names and launches within a chunk. Called by cupti_decode.c. Its tables are no core/base/map.h: they may not allocate,
 * and each chunk empties them, which costs one number here. */
#include "core/source/cupti/cupti_names.h"

#include <string.h>

#include "core/ring/thread_ring.h"

enum { NAME_MOST = 16384, MASK = PP_CUPTI_NAME_SLOTS - 1 };

_Static_assert(PP_CUPTI_NAME_SLOTS >= 2 * PP_CHUNK_RECORDS, "a chunk's names leave half of the slots empty");

static void begin_chunk(struct pp_cupti_names *n)
{
	n->epoch++;
	n->names = n->launches = 0;
}

/* Entries of another chunk are forgotten. */
static void read_names(struct pp_cupti_names *n)
{
	if (n->chunk == pp_thread_self->cursor.first && n->epoch)
		return;
	n->chunk = pp_thread_self->cursor.first;
	begin_chunk(n);
}

/* Writes a record with its text; its place, or NULL: it was dropped and counted. A new chunk begins where it does not fit, so
 * `number` is the first one there: *count is what the chunk has already. */
static const struct pp_record *put(struct pp_cupti_names *n, struct pp_record *r, uint32_t *number, uint32_t *count,
                                   const char *text, uint32_t length)
{
	const struct pp_thread_ring *t = pp_thread_self;
	uint32_t inline_bytes = length < PP_TEXT_INLINE ? length : PP_TEXT_INLINE;
	uint32_t more = (length - inline_bytes + PP_RECORD_CONT_TEXT - 1) / PP_RECORD_CONT_TEXT, need = 1 + more + (t->gap != 0);
	const struct pp_record *had = t->cursor.next;

	if (!had || (uint32_t)(t->cursor.end - had) < need)
		begin_chunk(n);
	*number = *count + 1;
	r->length = length;
	pp_ring_put(r, text ? text + inline_bytes : NULL, length - inline_bytes);
	t = pp_thread_self;
	n->chunk = t->cursor.first;
	if (t->cursor.next == had)
		return NULL;
	++*count;
	return t->cursor.next - 1 - more;
}

static uint32_t hash_of(uint64_t x)
{
	return (uint32_t)((x * UINT64_C(0x9e3779b97f4a7c15)) >> 40) & MASK;
}

/* Is it the text of this name's record? A module that was unloaded may have left its place to another's name. */
static int is_same(const struct pp_record *at, const char *text)
{
	uint32_t n = at->length < PP_TEXT_INLINE ? at->length : PP_TEXT_INLINE;

	return !strncmp(at->device_name.text, text, n) && (n == PP_TEXT_INLINE || !text[n]);
}

/* 0: its record was dropped. */
static uint32_t number_of_name(struct pp_cupti_names *n, const char *text)
{
	struct pp_record r = {.kind = PP_RECORD_DEVICE_NAME};
	uint32_t at = hash_of((uintptr_t)text), length;
	const struct pp_record *record;

	for (; n->name[at].epoch == n->epoch; at = (at + 1) & MASK)
		if (n->name[at].text == text && is_same(n->name[at].at, text))
			return n->name[at].number;
	length = (uint32_t)strnlen(text, NAME_MOST);
	r.tick = pp_tick_now();
	memcpy(r.device_name.text, text, length < PP_TEXT_INLINE ? length : PP_TEXT_INLINE);
	record = put(n, &r, &r.device_name.number, &n->names, text, length);
	if (!record)
		return 0;
	/* It may be the first one of a new chunk. */
	for (at = hash_of((uintptr_t)text); n->name[at].epoch == n->epoch; at = (at + 1) & MASK)
		;
	n->name[at].text = text;
	n->name[at].at = record;
	n->name[at].epoch = n->epoch;
	n->name[at].number = r.device_name.number;
	return r.device_name.number;
}

static uint32_t find_launch(const struct pp_cupti_names *n, const uint32_t *word, int *ret_is_there)
{
	uint64_t sum = 0;
	uint32_t at;

	for (int i = 0; i < PP_CUPTI_LAUNCH_WORDS; i++)
		sum = sum * 0x1000193 + word[i];
	for (at = hash_of(sum); n->launch[at].epoch == n->epoch; at = (at + 1) & MASK)
		if (!memcmp(n->launch[at].word, word, sizeof(n->launch[at].word))) {
			*ret_is_there = 1;
			return at;
		}
	*ret_is_there = 0;
	return at;
}

static uint32_t number_of_launch(struct pp_cupti_names *n, const struct pp_record_device_launch *l)
{
	uint32_t word[PP_CUPTI_LAUNCH_WORDS] = {l->registers, l->static_shared, l->dynamic_shared, l->block[0], l->block[1],
	                                        l->block[2],  l->grid[0],       l->grid[1],        l->grid[2]};
	struct pp_record r = {.kind = PP_RECORD_DEVICE_LAUNCH, .device_launch = *l};
	int is_there = 0;
	uint32_t at = find_launch(n, word, &is_there);

	if (is_there)
		return n->launch[at].number;
	r.tick = pp_tick_now();
	if (!put(n, &r, &r.device_launch.number, &n->launches, NULL, 0))
		return 0;
	at = find_launch(n, word, &is_there);
	memcpy(n->launch[at].word, word, sizeof(word));
	n->launch[at].epoch = n->epoch;
	n->launch[at].number = r.device_launch.number;
	return r.device_launch.number;
}

void pp_cupti_write(struct pp_cupti_names *n, struct pp_record *r, uint32_t *name_at, const char *text, uint32_t *launch_at,
                    const struct pp_record_device_launch *launch)
{
	/* The second time all is in one new chunk: of 1023 records, whose texts are shorter than a chunk. */
	for (int i = 0; i < 2; i++) {
		struct pp_record *to;
		uint32_t epoch;

		read_names(n);
		if (text && !(*name_at = number_of_name(n, text)))
			return; /* no room: counted */
		epoch = n->epoch;
		if (launch && !(*launch_at = number_of_launch(n, launch)))
			return;
		to = n->epoch == epoch ? pp_ring_take(&pp_thread_self->cursor, &pp_wiped.recording) : NULL;
		if (to) {
			*to = *r;
			pp_ring_commit(&pp_thread_self->cursor);
			return;
		}
		if (!text && !launch)
			break;
		if (n->epoch == epoch && pp_thread_self->cursor.end - pp_thread_self->cursor.next >= 2) {
			pp_ring_put(r, NULL, 0); /* a GAP comes first, so the short way is closed; both fit into this chunk */
			return;
		}
		/* The launch has begun a chunk, which lacks the name; or there is no room, so the name must come again. */
		if (n->epoch == epoch)
			begin_chunk(n);
	}
	if (name_at)
		*name_at = 0;
	if (launch_at)
		*launch_at = 0;
	pp_ring_put(r, NULL, 0);
}
