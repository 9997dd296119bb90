/* Buffers for CUPTI, and the queue of full ones. Called by CUPTI and by cupti_session.c. */
#include "core/source/cupti/cupti_pool.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/mman.h>

enum { HEAD = 64 }; /* in a buffer of its own mapping: its struct comes first */

static uint8_t *pool;
static struct pp_cupti_buffer row[PP_CUPTI_BUFFERS];
static _Atomic uint64_t used; /* bit: row is not free */
static _Atomic(struct pp_cupti_buffer *) queue;
static _Atomic uint32_t held;
static int refuses;

_Static_assert(PP_CUPTI_BUFFERS <= 64, "one bit each");
_Static_assert(sizeof(struct pp_cupti_buffer) <= HEAD, "the head holds it");

int pp_cupti_pool_start(int may_refuse)
{
	void *at;

	refuses = may_refuse;
	if (pool)
		return 0;
	at = mmap(NULL, (size_t)PP_CUPTI_BUFFERS * PP_CUPTI_BUFFER_BYTES, PROT_READ | PROT_WRITE,
	          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at == MAP_FAILED)
		return -errno;
	pool = at;
	for (size_t i = 0; i < PP_CUPTI_BUFFERS; i++)
		row[i] = (struct pp_cupti_buffer){.data = pool + i * PP_CUPTI_BUFFER_BYTES, .size = PP_CUPTI_BUFFER_BYTES};
	return 0;
}

static struct pp_cupti_buffer *free_row(void)
{
	uint64_t had = atomic_load(&used);

	for (int i = 0; i < PP_CUPTI_BUFFERS; i++) {
		uint64_t bit = UINT64_C(1) << i;

		if (had & bit)
			continue;
		had = atomic_fetch_or(&used, bit);
		if (!(had & bit))
			return &row[i];
	}
	return NULL;
}

static struct pp_cupti_buffer *map_one(void)
{
	int saved = errno;
	void *at = mmap(NULL, PP_CUPTI_BUFFER_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct pp_cupti_buffer *b = at;

	errno = saved;
	if (at == MAP_FAILED)
		return NULL;
	*b = (struct pp_cupti_buffer){.data = (uint8_t *)at + HEAD, .size = PP_CUPTI_BUFFER_BYTES - HEAD};
	return b;
}

void pp_cupti_pool_request(uint8_t **ret_buffer, size_t *ret_size, size_t *ret_most)
{
	struct pp_cupti_buffer *b = pool ? free_row() : NULL;

	if (!b && !refuses)
		b = map_one();
	*ret_most = 0;
	*ret_buffer = b ? b->data : NULL;
	*ret_size = b ? b->size : 0;
	if (b)
		atomic_fetch_add(&held, 1);
}

static int is_in_pool(const uint8_t *at)
{
	return pool && at >= pool && at < pool + (size_t)PP_CUPTI_BUFFERS * PP_CUPTI_BUFFER_BYTES;
}

void pp_cupti_pool_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	struct pp_cupti_buffer *b, *first;

	(void)context;
	(void)stream;
	(void)size;
	if (!buffer)
		return;
	b = is_in_pool(buffer) ? &row[(size_t)(buffer - pool) / PP_CUPTI_BUFFER_BYTES]
	                       : (struct pp_cupti_buffer *)(void *)(buffer - HEAD);
	b->valid = valid < b->size ? valid : b->size;
	first = atomic_load(&queue);
	do
		b->next = first;
	while (!atomic_compare_exchange_weak(&queue, &first, b));
	atomic_fetch_sub(&held, 1);
}

struct pp_cupti_buffer *pp_cupti_pool_take(void)
{
	struct pp_cupti_buffer *b = atomic_exchange(&queue, NULL), *list = NULL;

	while (b) {
		struct pp_cupti_buffer *next = b->next;

		b->next = list;
		list = b;
		b = next;
	}
	return list;
}

void pp_cupti_pool_give(struct pp_cupti_buffer *b)
{
	if (is_in_pool(b->data))
		atomic_fetch_and(&used, ~(UINT64_C(1) << (b - row)));
	else
		munmap(b, PP_CUPTI_BUFFER_BYTES);
}

uint32_t pp_cupti_pool_held(void)
{
	return atomic_load(&held);
}
