/* The ring file of this process: made, grown and shared out in chunks. Called by thread_ring.c (slow path) and collector.c.
 * In: options of the rank. Out: chunks that are backed by memory, so that a store never meets a full tmpfs. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/ring/ring_file.h"
#include "core/ring/room.h"

struct pp_pool {
	struct pp_ring_header *header; /* NULL: no file */
	size_t map_bytes;
	char path[512];
	uint32_t backed;                             /* chunks reserved in the file, >= chunk_used */
	uint32_t slots_backed;                       /* thread slots reserved in the file */
	int (*may_grow)(void);                       /* NULL: always. 0: nobody drains it */
	int no_space;                                /* the file system refused the last growth */
	uint64_t free_map[PP_ROOM_MOST_CHUNKS / 64]; /* drained chunks, lowest first: the hot set */
};

struct pp_pool_options {
	const char *spool;
	uint64_t ring_bytes;      /* most the file may take */
	int32_t rank, local_size; /* local_size < 1: unknown */
};

/* Create <spool>/rank-R-PID.ring as .tmp with a reserved header (magic, version, sizes filled). pp_pool_publish() renames it. */
int pp_pool_create(struct pp_pool *p, const struct pp_pool_options *options, struct pp_err *err);
int pp_pool_publish(struct pp_pool *p, struct pp_err *err);
/* Unmap and, where it is not published yet, unlink. */
void pp_pool_release(struct pp_pool *p);

/* The rest under the caller's lock. */
struct pp_chunk *pp_pool_chunk(const struct pp_pool *p, uint32_t number);
void pp_pool_give(struct pp_pool *p, uint32_t number);
/* A free chunk, else a new one; cleared. 0: none, *ret_loss says why. `grow` 0: only a free one. */
uint32_t pp_pool_take(struct pp_pool *p, int grow, enum pp_loss *ret_loss);
/* Memory for slots below `count`; -errno where there is none. */
int pp_pool_back_slots(struct pp_pool *p, uint32_t count);
