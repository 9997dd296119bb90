/* The size limit of a rank's ring: by the space of the spool, the limit on file sizes, and the memory cgroups. Called by
 * chunk_pool.c at the claim. In: free space and limits. Out: chunks. */
#pragma once

#include <stdint.h>

#include "core/base/err.h"

enum {
	PP_ROOM_LEAST_CHUNKS = 2,    /* a thread must be able to close one and continue in another */
	PP_ROOM_MOST_CHUNKS = 16384, /* 1 GiB */
};

struct pp_room {
	uint64_t space;     /* free in the spool's file system */
	uint64_t file_size; /* most bytes of a file; UINT64_MAX: no limit */
	uint64_t memory;    /* left by the memory cgroups; UINT64_MAX: no limit */
};

/* Free space, limits and memory of this process now, in bytes. -errno with the sentence: the spool cannot be asked. */
int pp_room_read(const char *spool, struct pp_room *ret_room, struct pp_err *err);
/* Chunks of the ring of one of `local_size` ranks of this host (< 1: unknown), at most `ring_bytes` in all. */
int pp_room_chunks(const struct pp_room *room, const char *spool, uint64_t ring_bytes, int32_t local_size, uint32_t *ret_chunks,
                   struct pp_err *err);
