/* Where an export goes: a buffer in front of a file descriptor, compressed on the way if asked. In: bytes. Out: the descriptor, or
 * one sentence about why it took no more. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"

struct pp_out {
	int fd, failed; /* 0 or -errno: of the first failure; nothing is written after it */
	uint8_t *buffer;
	size_t used, room;
	uint64_t bytes; /* taken so far, before compression */
	void *gzip;     /* NULL: as it is */
};

/* 0, or -ENOMEM. */
int pp_out_init(struct pp_out *o, int fd, int gzip, struct pp_err *err);
/* A place for at least `size` bytes, valid until the next call; NULL: the output failed. */
uint8_t *pp_out_more(struct pp_out *o, size_t size);
/* Of that place the bytes up to `end` are written. */
static inline void pp_out_take(struct pp_out *o, const uint8_t *end)
{
	const size_t used = (size_t)(end - o->buffer);

	o->bytes += used - o->used;
	o->used = used;
}
/* Writes what is left. 0, or -errno of the first failure. Frees what it holds either way. */
int pp_out_finish(struct pp_out *o, struct pp_err *err);
