/* The ring file of this process: creates it, grows it and hands out its chunks. Called by thread_ring.c (slow path) and
 * collector.c. In: options of the rank. Out: chunks backed by memory, so that no store meets a full tmpfs. */
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
	int (*may_grow)(void);                       /* NULL: always. 0: no keeper drains the file */
	int no_space;                                /* the file system refused the last growth */
	uint64_t free_map[PP_ROOM_MOST_CHUNKS / 64]; /* drained chunks, lowest first, so that few chunks stay in the cache */
};

struct pp_pool_options {
	const char *spool;
	uint64_t ring_bytes;      /* most the file may take */
	int32_t rank, local_size; /* local_size < 1: unknown */
};

/* Creates <spool>/rank-R-PID.ring as .tmp with a reserved header (magic, version, sizes filled). pp_pool_publish() renames it. */
int pp_pool_create(struct pp_pool *p, const struct pp_pool_options *options, struct pp_err *err);
/* From here on the keeper finds the file. -errno with the sentence. */
int pp_pool_publish(struct pp_pool *p, struct pp_err *err);
/* Unmaps the file; deletes it where it is not published yet. */
void pp_pool_release(struct pp_pool *p);

/* The functions below run under the caller's lock. */
/* Its memory; `number` from 1, as pp_pool_take() gave it. */
struct pp_chunk *pp_pool_chunk(const struct pp_pool *p, uint32_t number);
/* Takes back a chunk that the keeper has drained. */
void pp_pool_give(struct pp_pool *p, uint32_t number);
/* A free chunk, else a new one; cleared. 0: none, *ret_loss is the cause. `grow` 0: only a free one. */
uint32_t pp_pool_take(struct pp_pool *p, int grow, enum pp_loss *ret_loss);
/* Reserves memory for slots below `count`; -errno where there is none. */
int pp_pool_back_slots(struct pp_pool *p, uint32_t count);
/* The same for the header's rows of communicators. */
int pp_pool_back_comms(struct pp_pool *p);
