/* Any ring file, as salvage and as a keeper read it, with all that is made of it but the files; see fuzz.h. The bytes are items
 * (ring_items.h) on top of a ring of two threads that has no records. */
#include <stdlib.h>

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/items.h"
#include "tests/fuzz/ring_items.h"
#include "tests/unit/aggregate/read/ring/hostile_kit.h"
#include "tests/unit/aggregate/read/ring/rings_kit.h"

enum { SIZE_MOST = 100 };

static void end(void)
{
	unlink(path_of("fuzz.ring"));
	rmdir(dir);
}

static void header(struct maker *m, const struct item *i)
{
	size_t at;

	if (i->size < 3)
		return;
	at = (i->bytes[0] | (size_t)i->bytes[1] << 8 | (size_t)i->bytes[2] << 16) % sizeof(*m->header);
	memcpy((char *)m->header + at, i->bytes + 3,
	       (size_t)i->size - 3 < sizeof(*m->header) - at ? i->size - 3u : sizeof(*m->header) - at);
}

static void patch(struct maker *m, const struct item *i)
{
	size_t at;

	if (i->size < 2)
		return;
	at = (i->bytes[0] | (size_t)i->bytes[1] << 8) % (PP_CHUNK_BYTES - ITEM_MOST);
	memcpy((char *)maker_chunk(m, 1 + i->where % RING_ITEM_CHUNKS) + at, i->bytes + 2, i->size - 2u);
}

static uint32_t chunks; /* that have an owner, whatever the header says by now */

/* A new chunk for a thread, linked behind its last one. */
static struct pp_chunk *next_chunk(struct maker *m, uint32_t slot)
{
	uint32_t used = chunks, last = m->chunk[slot];

	if (used >= RING_ITEM_CHUNKS)
		return NULL;
	chunks = m->chunk[slot] = used + 1;
	m->header->chunk_used = used + 1;
	if (last)
		atomic_store(&maker_chunk(m, last)->next, used + 1);
	else
		atomic_store(&m->header->thread[slot].first, used + 1);
	maker_chunk(m, used + 1)->thread = slot;
	return maker_chunk(m, used + 1);
}

static void put(struct maker *m, uint32_t slot, const struct pp_record *r)
{
	struct pp_chunk *c = m->chunk[slot] ? maker_chunk(m, m->chunk[slot]) : NULL;

	if (!c || c->committed >= PP_CHUNK_RECORDS)
		c = next_chunk(m, slot);
	if (!c || c->committed >= PP_CHUNK_RECORDS) /* that of a new one may have been changed before */
		return;
	c->record[c->committed] = *r;
	atomic_fetch_add(&c->committed, 1);
}

static void cut(struct maker *m, const struct item *i)
{
	off_t pages = i->size < 2 ? 0 : i->bytes[0] | (off_t)i->bytes[1] << 8;

	if (truncate(m->path, pages * 4096 % (off_t)m->bytes))
		abort();
}

/* The words that a chunk begins with. */
static void link_words(struct maker *m, const struct item *i)
{
	struct pp_chunk *c = maker_chunk(m, 1 + i->where % RING_ITEM_CHUNKS);

	item_copy(i, c, 16);
}

struct ring {
	struct maker m;
	struct pp_rings *rings;
	int is_live, is_cut, is_open;
};

/* Each rank that is missing gets a row: the most that podprof takes, a million, need a second. */
static void limit(struct ring *r)
{
	if (!r->is_cut && r->m.header->size > SIZE_MOST)
		r->m.header->size = r->m.header->size % SIZE_MOST + 1;
}

static void open_ring(struct ring *r)
{
	if (r->is_open++)
		return;
	limit(r);
	r->rings = pp_rings_new(r->is_live ? 256 * 1024 : SIZE_MAX);
	if (!r->is_live)
		pp_rings_private(r->rings);
	pp_rings_open(r->rings, r->m.path, NULL);
}

static void drain(struct ring *r)
{
	open_ring(r);
	for (int k = 0; k < 2 && pp_rings_count(r->rings); k++)
		pp_rings_drain(r->rings, 0, NULL);
}

static void one(struct ring *r, const struct item *i)
{
	static struct pp_record last;
	uint32_t slot = i->where % RING_ITEM_THREADS;
	struct pp_thread_slot *s = &r->m.header->thread[slot];

	switch (r->is_cut ? RING_ITEMS : i->what % RING_ITEMS) {
	case RING_HEADER:
		header(&r->m, i);
		break;
	case RING_RECORD:
		last = (struct pp_record){0};
		item_copy(i, &last, sizeof(last));
		put(&r->m, slot, &last);
		break;
	case RING_CHUNK:
		next_chunk(&r->m, slot);
		break;
	case RING_LINK:
		link_words(&r->m, i);
		break;
	case RING_SLOT:
		item_copy(i, &s->state, sizeof(*s) - offsetof(struct pp_thread_slot, state));
		break;
	case RING_WHERE:
		item_copy(i, &s->where, sizeof(s->where));
		break;
	case RING_COMM:
		item_copy(i, &r->m.header->comm[i->where % PP_RING_COMMS], sizeof(struct pp_ring_comm));
		break;
	case RING_DRAIN:
		drain(r);
		break;
	case RING_CUT:
		limit(r);
		cut(&r->m, i);
		r->is_cut = 1;
		break;
	case RING_AGAIN:
		for (unsigned k = 0; k < i->where; k++, last.tick += 10)
			put(&r->m, slot, &last);
		break;
	case RING_PATCH:
		patch(&r->m, i);
		break;
	case RING_LIVE:
		r->is_live = 1;
		break;
	default:
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct ring r = {.rings = NULL};
	const uint8_t *at = bytes;
	struct pp_capture c;
	struct item i;

	if (!dir[0] && (rings_kit_begin() || atexit(end)))
		abort();
	chunks = 0;
	maker_open(&r.m, path_of("fuzz.ring"), 0, 2, 1, RING_ITEM_CHUNKS);
	maker_thread(&r.m, 0, 10);
	maker_thread(&r.m, 1, 11);
	while (item_next(&at, bytes + size, &i))
		one(&r, &i);
	limit(&r);
	drain(&r);
	if (pp_rings_count(r.rings)) {
		pp_rings_exclude(r.rings);
		CHECK_INT(pp_rings_finish(r.rings, &c, NULL), 0);
		for (size_t k = 0; k < c.ranks; k++)
			hostile_order(&c);
		if (c.ranks)
			hostile_analyse(&c, NULL);
		pp_capture_release(&c);
	}
	pp_rings_free(r.rings);
	maker_close(&r.m);
	if (test_failures)
		abort();
	return 0;
}

#ifdef PP_FUZZ_MUTATES
size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t room, unsigned seed);

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t room, unsigned seed)
{
	return items_mutate(bytes, size, room, seed);
}
#endif
