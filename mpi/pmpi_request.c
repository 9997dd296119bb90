/* The table of pending requests. Called by the nonblocking, Wait and Test wrappers. No core/base/map.h: it may not allocate,
 * threads share it, and requests leave it one by one. */
#include "mpi/pmpi_request.h"

#include <sched.h>
#include <stddef.h>

#include "core/base/lazy.h"
#include "mpi/dispatch/thread.h"

enum { SHARDS = 64, PER_SHARD = 256, SPINS = 1000, NUMBERS = 256 };

struct shard {
	_Alignas(64) atomic_flag busy;
	uint32_t used;
	struct pp_request slot[PER_SHARD];
};

int pp_request_shared = 1;
_Atomic uint32_t pp_request_live;
static _Atomic uint32_t last_number;
static _Atomic uint64_t uncorrelated;

/* Handles that are numbers differ in their lowest bits only. */
static uint64_t hash(uint64_t key)
{
	return key * 0x9e3779b97f4a7c15u;
}

static struct shard *shard_of(uint64_t h)
{
	static void *_Atomic shards;
	static struct shard spare; /* for a process that may have no more memory */
	struct shard *all = pp_lazy(&shards, SHARDS * sizeof(*all));

	return __builtin_expect(all != NULL, 1) ? &all[h >> 58] : &spare;
}

static uint32_t home(uint64_t h)
{
	return (uint32_t)(h >> 40) % PER_SHARD;
}

static void enter(struct shard *s)
{
	unsigned spins = 0;

	if (!pp_request_shared)
		return;
	while (atomic_flag_test_and_set_explicit(&s->busy, memory_order_acquire))
		if (++spins % SPINS == 0)
			sched_yield();
}

static void leave(struct shard *s)
{
	if (pp_request_shared)
		atomic_flag_clear_explicit(&s->busy, memory_order_release);
}

/* Its slot, or the free one where it would go; NULL: full and not there. */
static struct pp_request *probe(struct shard *s, uint64_t key, uint32_t at)
{
	for (uint32_t i = 0; i < PER_SHARD; i++) {
		struct pp_request *r = &s->slot[(at + i) % PER_SHARD];

		if (!r->key || r->key == key)
			return r;
	}
	return NULL;
}

/* Threads get numbers in blocks: a shared counter costs more than the rest of a start. */
uint32_t pp_request_number(void)
{
	struct pp_mpi_thread *t = &pp_mpi_thread;

	do {
		if (!t->requests_left) {
			t->request = atomic_fetch_add_explicit(&last_number, NUMBERS, memory_order_relaxed);
			t->requests_left = NUMBERS;
		}
		t->requests_left--;
		t->request++;
	} while (!t->request);
	return t->request;
}

/* 0: full. */
static int store(const struct pp_request *request)
{
	uint64_t h = hash(request->key);
	struct shard *s = shard_of(h);
	struct pp_request *slot;

	enter(s);
	slot = probe(s, request->key, home(h));
	if (slot) {
		/* the handle was reused: the thread that completes the old request has read its entry before */
		if (!slot->key) {
			s->used++;
			atomic_fetch_add_explicit(&pp_request_live, 1, memory_order_relaxed);
		}
		*slot = *request;
	}
	leave(s);
	return slot != NULL;
}

uint32_t pp_request_add(struct pp_request *request)
{
	request->number = request->persistent ? 0 : pp_request_number();
	if (store(request))
		return request->number;
	atomic_fetch_add_explicit(&uncorrelated, 1, memory_order_relaxed);
	return 0;
}

/* Closes the hole at `hole`: moves up entries that were probed past it. */
static void close_hole(struct shard *s, uint32_t hole)
{
	uint32_t i = hole;

	for (uint32_t n = 1; n < PER_SHARD; n++) {
		uint32_t want;

		i = (i + 1) % PER_SHARD;
		if (!s->slot[i].key)
			break;
		want = home(hash(s->slot[i].key));
		if ((i - want + PER_SHARD) % PER_SHARD < (i - hole + PER_SHARD) % PER_SHARD)
			continue;
		s->slot[hole] = s->slot[i];
		hole = i;
	}
	s->slot[hole].key = 0;
}

/* Under the shard's lock. */
static void remove_slot(struct shard *s, struct pp_request *slot)
{
	close_hole(s, (uint32_t)(slot - s->slot));
	s->used--;
	atomic_fetch_sub_explicit(&pp_request_live, 1, memory_order_relaxed);
}

void pp_request_remove(const struct pp_request *request)
{
	uint64_t h = hash(request->key);
	struct shard *s = shard_of(h);
	struct pp_request *slot;

	enter(s);
	slot = probe(s, request->key, home(h));
	if (slot && slot->key && slot->number == request->number)
		remove_slot(s, slot);
	leave(s);
}

void pp_request_start(uint64_t key, struct pp_request *ret_request)
{
	uint64_t h = hash(key);
	struct shard *s = shard_of(h);
	uint32_t number = pp_request_number();
	struct pp_request *slot;

	ret_request->key = 0;
	ret_request->number = 0;
	if (!key)
		return;
	enter(s);
	slot = probe(s, key, home(h));
	if (slot && slot->key && slot->persistent) {
		slot->number = number;
		*ret_request = *slot;
	}
	leave(s);
}

void pp_request_set_wild(const struct pp_request *request, const struct pp_message_wild *wild)
{
	uint64_t h = hash(request->key);
	struct shard *s = shard_of(h);
	struct pp_request *slot;

	enter(s);
	slot = probe(s, request->key, home(h));
	if (slot && slot->key && slot->number == request->number)
		slot->wild = *wild;
	leave(s);
}

static void find(uint64_t key, int takes, struct pp_request *ret_request)
{
	uint64_t h = hash(key);
	struct shard *s = shard_of(h);
	struct pp_request *slot;

	ret_request->key = 0;
	ret_request->number = 0;
	ret_request->receives = 0;
	if (!key)
		return;
	enter(s);
	slot = s->used ? probe(s, key, home(h)) : NULL;
	if (slot && slot->key) {
		*ret_request = *slot;
		if (takes && slot->persistent)
			slot->number = 0;
		else if (takes)
			remove_slot(s, slot);
	}
	leave(s);
}

void pp_request_find(uint64_t key, struct pp_request *ret_request)
{
	find(key, 0, ret_request);
}

void pp_request_take(uint64_t key, struct pp_request *ret_request)
{
	find(key, 1, ret_request);
}

/* There is room, since it was there before. If another request took it meanwhile, its completion is not recorded. */
void pp_request_put_back(const struct pp_request *request)
{
	if (request->number && !store(request))
		atomic_fetch_add_explicit(&uncorrelated, 1, memory_order_relaxed);
}

void pp_request_end(const struct pp_request *request)
{
	uint64_t h = hash(request->key);
	struct shard *s = shard_of(h);
	struct pp_request *slot;

	if (!request->persistent) {
		pp_request_remove(request);
		return;
	}
	enter(s);
	slot = probe(s, request->key, home(h));
	if (slot && slot->key && slot->persistent && slot->number == request->number)
		slot->number = 0;
	leave(s);
}

uint64_t pp_request_uncorrelated(void)
{
	return atomic_load_explicit(&uncorrelated, memory_order_relaxed);
}
