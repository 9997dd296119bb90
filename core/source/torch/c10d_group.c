/* The tables of process groups and of messages' numbers; see c10d_group.h. Called by c10d.c and shim.c. */
#include "core/source/torch/c10d_group.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/comm_id.h"
#include "core/base/lazy.h"
#include "core/ring/thread_ring.h"

enum { PROBES = 64, NUMBERS = 1 << 14, WAS_FREED = 1 };

struct number {
	_Atomic uint64_t key; /* 0: free */
	_Atomic uint32_t count;
	uint32_t reserved;
};

static void *_Atomic all_groups;  /* [PP_C10D_GROUPS]; see lazy.h */
static void *_Atomic all_numbers; /* [NUMBERS] */
static _Atomic uint32_t next_serial;
_Atomic uint32_t pp_c10d_groups_named;

static uint32_t place_of(uint64_t object)
{
	return (uint32_t)(pp_comm_id_mix(object) % PP_C10D_GROUPS);
}

static struct pp_c10d_group *find(uint64_t object)
{
	struct pp_c10d_group *all = pp_lazy_had(&all_groups);
	uint32_t first = place_of(object);

	for (uint32_t i = 0; all && i < PROBES; i++) {
		struct pp_c10d_group *g = &all[(first + i) % PP_C10D_GROUPS];
		uint64_t has = atomic_load_explicit(&g->object, memory_order_acquire);

		if (has == object)
			return g;
		if (!has)
			return NULL;
	}
	return NULL;
}

static void reset(struct pp_c10d_group *g)
{
	atomic_store_explicit(&g->id, 0, memory_order_relaxed);
	atomic_store_explicit(&g->collectives, 0, memory_order_relaxed);
	atomic_store_explicit(&g->reported, 0, memory_order_relaxed);
	g->serial = atomic_fetch_add_explicit(&next_serial, 1, memory_order_relaxed) + 1;
}

/* The calls of one group come in an order that is the same on all of its ranks, so not on several threads at once. */
static struct pp_c10d_group *add(uint64_t object)
{
	struct pp_c10d_group *all = pp_lazy(&all_groups, PP_C10D_GROUPS * sizeof(*all));
	uint32_t first = place_of(object);

	for (uint32_t i = 0; all && i < PROBES; i++) {
		struct pp_c10d_group *g = &all[(first + i) % PP_C10D_GROUPS];
		uint64_t has = atomic_load_explicit(&g->object, memory_order_relaxed);

		if (has > WAS_FREED || !atomic_compare_exchange_strong(&g->object, &has, WAS_FREED + 1))
			continue;
		reset(g);
		atomic_store_explicit(&g->object, object, memory_order_release);
		return g;
	}
	return NULL;
}

struct pp_c10d_group *pp_c10d_group_of(uint64_t object)
{
	struct pp_c10d_group *g = find(object);

	return g || object <= WAS_FREED + 1 ? g : add(object);
}

void pp_c10d_group_gone(uint64_t object)
{
	struct pp_c10d_group *g = object > WAS_FREED + 1 ? find(object) : NULL;
	int saved = errno;

	if (!g)
		return;
	if (g->row)
		pp_ring_comm_leave(g->row);
	g->row = NULL;
	g->size = 0; /* `member` is freed by the next one here: pp_c10d_groups_report() may be reading it */
	atomic_store_explicit(&g->id, 0, memory_order_relaxed);
	atomic_store_explicit(&g->object, WAS_FREED, memory_order_release);
	errno = saved;
}

static int count(uint64_t key, uint32_t *ret_number)
{
	struct number *all = pp_lazy(&all_numbers, NUMBERS * sizeof(*all));

	key |= 1;
	for (uint32_t i = 0; all && i < PROBES; i++) {
		struct number *n = &all[((key >> 20) + i) % NUMBERS];
		uint64_t has = atomic_load_explicit(&n->key, memory_order_relaxed);

		if (!has && atomic_compare_exchange_strong(&n->key, &has, key))
			has = key;
		if (has != key)
			continue;
		*ret_number = atomic_fetch_add_explicit(&n->count, 1, memory_order_relaxed);
		return 1;
	}
	return 0;
}

static struct pp_ring_comm *take_row(const struct pp_c10d_group *g, uint64_t id, int32_t own)
{
	struct pp_ring_comm row = {
	        .id = id, .size = (int32_t)g->size, .flags = PP_RING_COMM_NCCL, .nccl = {.rank = own, .root = -1}};

	memcpy(row.name, g->name, g->length);
	row.nccl.begun = row.nccl.ended = atomic_load_explicit(&g->collectives, memory_order_relaxed);
	return pp_ring_comm_take(&row);
}

void pp_c10d_group_begins(const struct pp_c10d_group *g, uint16_t call, uint32_t number, uint64_t bytes, int32_t root)
{
	struct pp_ring_nccl *line = g->row ? &g->row->nccl : NULL;

	if (!line)
		return;
	line->call = (uint16_t)(call + 1);
	line->bytes = bytes;
	line->root = root;
	line->turn = pp_tick_now();
	line->begun = (uint64_t)number + 1;
}

void pp_c10d_group_sends(const struct pp_c10d_group *g, uint16_t call)
{
	if (!g->row)
		return;
	g->row->nccl.message = (uint16_t)(call + 1);
	g->row->nccl.messages++;
}

void pp_c10d_group_returns(const struct pp_c10d_group *g)
{
	if (g->row)
		g->row->nccl.ended = g->row->nccl.begun;
}

uint64_t pp_c10d_group_name(uint64_t object, const char *key, const char *name, uint32_t size, const int32_t *member, int32_t own,
                            int on_host)
{
	struct pp_c10d_group *g = pp_c10d_group_of(object);
	uint64_t id = pp_hash(pp_hash(PP_HASH_BEGIN, "c10d", 4), key, strlen(key) + 1);
	int32_t *copy = g && size && size < INT32_MAX / sizeof(*copy) ? malloc(size * sizeof(*copy)) : NULL;
	uint32_t again = 0;

	if (!copy)
		return 0;
	id = pp_hash(id, member, size * sizeof(*member)) | 1;
	if (g->key == id && atomic_load_explicit(&g->id, memory_order_relaxed)) {
		free(copy);
		return atomic_load_explicit(&g->id, memory_order_relaxed);
	}
	if (atomic_load_explicit(&g->id, memory_order_relaxed)) /* another one's address: its end was not seen */
		reset(g);
	memcpy(copy, member, size * sizeof(*copy));
	free(g->member);
	g->member = copy;
	g->size = size;
	g->key = id;
	count(pp_comm_id_mix(id), &again); /* groups with the same name, one after the other */
	if (again)
		id = pp_comm_id_mix(id + again) | 1;
	if (again)
		snprintf(g->name, sizeof(g->name), "%.48s #%u", name, again + 1);
	else
		snprintf(g->name, sizeof(g->name), "%s", name);
	g->length = (uint32_t)strlen(g->name);
	if (g->row)
		pp_ring_comm_leave(g->row);
	g->row = on_host ? take_row(g, id, own) : NULL;
	atomic_store_explicit(&g->id, id, memory_order_release);
	atomic_fetch_add_explicit(&pp_c10d_groups_named, 1, memory_order_relaxed);
	return id;
}

static void put(const struct pp_c10d_group *g, uint64_t id, enum pp_comm_text what, const void *text, size_t length)
{
	struct pp_record r = {.tick = pp_tick_now(), .kind = PP_RECORD_COMM, .length = (uint32_t)length};
	size_t n = length < PP_TEXT_INLINE ? length : PP_TEXT_INLINE;

	r.comm.comm = id;
	r.comm.size = g->size;
	r.comm.is_name = what;
	memcpy(r.comm.text, text, n);
	pp_ring_put(&r, (const char *)text + n, (uint32_t)(length - n));
}

void pp_c10d_group_report(struct pp_c10d_group *g, uint32_t recording)
{
	uint64_t id = atomic_load_explicit(&g->id, memory_order_acquire);

	if (!id || atomic_load_explicit(&g->reported, memory_order_relaxed) == recording ||
	    atomic_exchange(&g->reported, recording) == recording)
		return;
	put(g, id, PP_COMM_MEMBERS, g->member, g->size * sizeof(*g->member));
	put(g, id, PP_COMM_NAME, g->name, g->length);
}

void pp_c10d_groups_report(uint32_t recording)
{
	struct pp_c10d_group *all = pp_lazy_had(&all_groups);

	for (uint32_t i = 0; all && i < PP_C10D_GROUPS; i++)
		if (atomic_load_explicit(&all[i].object, memory_order_acquire) > WAS_FREED)
			pp_c10d_group_report(&all[i], recording);
}

int32_t pp_c10d_group_member(const struct pp_c10d_group *g, int64_t rank)
{
	return g && atomic_load_explicit(&g->id, memory_order_acquire) && rank >= 0 && rank < g->size ? g->member[rank] : -1;
}

int pp_c10d_group_message(const struct pp_c10d_group *g, int32_t peer, int32_t tag, enum pp_c10d_way way, uint32_t *ret_number)
{
	uint64_t key = pp_comm_id_mix((uint64_t)g->serial * PP_C10D_WAYS + (uint64_t)way + 1);

	return count(pp_comm_id_mix(key ^ ((uint64_t)(uint32_t)peer << 32 | (uint32_t)tag)), ret_number);
}
