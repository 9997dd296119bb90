/* Buffers that CUPTI fills. In: CUPTI's requests, on any thread. Out: a queue that podprof's thread empties. No lock, no malloc;
 * one more mapping only where the pool is empty and CUPTI cannot be refused. One pool per process. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { PP_CUPTI_BUFFERS = 48, PP_CUPTI_BUFFER_BYTES = 1 << 20 };

struct pp_cupti_buffer {
	struct pp_cupti_buffer *next;
	uint8_t *data;
	size_t size, valid; /* of data; filled bytes */
};

/* Maps the pool, once; may_refuse: CUPTI takes NULL for a buffer. 0 or -errno. */
int pp_cupti_pool_start(int may_refuse);
void pp_cupti_pool_request(uint8_t **ret_buffer, size_t *ret_size, size_t *ret_most);
void pp_cupti_pool_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid);
/* All buffers that came back, oldest first; NULL: none. */
struct pp_cupti_buffer *pp_cupti_pool_take(void);
/* After it was read: CUPTI may get it again. */
void pp_cupti_pool_give(struct pp_cupti_buffer *b);
/* Buffers that CUPTI holds. */
uint32_t pp_cupti_pool_held(void);
