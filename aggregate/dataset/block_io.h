/* Values of a block, written or read by the same lines of block.c. After a fault all values read are zero.
 * In: fields of pp_dataset, or untrusted bytes. Out: the other. Used by block*.c only. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/ring/intern.h"

/* Limit of memory for a peer's bytes: a job's grow ten times, an empty step of a rank 1000 times. */
#define PP_BLOCK_MEMORY(packed) (((size_t)64 << 20) + (packed)*256)
#define PP_BLOCK_TIME_MAX ((int64_t)1 << 55) /* a year: sums of a few stay in int64 */

struct pp_block_io {
	int reads;
	int fault; /* 0, -EBADMSG, -ENOMEM */
	const char *what;
	uint8_t *bytes; /* written: grows; read: borrowed */
	size_t size, at;
	size_t budget;                 /* read: bytes that may still be allocated */
	const struct pp_intern *names; /* written */
	struct pp_intern *interned;    /* read */
};

/* The first fault counts: -EBADMSG or -ENOMEM, and what is wrong, a literal. */
void pp_block_fault(struct pp_block_io *io, int code, const char *what);
/* The next n bytes, to write or to read; NULL is a fault. */
uint8_t *pp_block_take(struct pp_block_io *io, size_t n);
void pp_block_long(struct pp_block_io *io, uint64_t *value); /* any; the one below is quicker with small ones */
void pp_block_bad_time(struct pp_block_io *io, int64_t *value);

static inline void pp_block_u(struct pp_block_io *io, uint64_t *value)
{
	if (io->reads && !io->fault && io->at < io->size && io->bytes[io->at] < 0x80)
		*value = io->bytes[io->at++];
	else
		pp_block_long(io, value);
}

static inline void pp_block_s(struct pp_block_io *io, int64_t *value)
{
	uint64_t v = ((uint64_t)*value << 1) ^ (*value < 0 ? UINT64_MAX : 0);

	pp_block_u(io, &v);
	if (io->reads)
		*value = (int64_t)((v >> 1) ^ (v & 1 ? UINT64_MAX : 0));
}

/* Written as the difference to another value. */
static inline void pp_block_delta(struct pp_block_io *io, int64_t *value, int64_t base, int is_time)
{
	int64_t difference = (int64_t)((uint64_t)*value - (uint64_t)base);

	pp_block_s(io, &difference);
	if (io->reads)
		*value = io->fault ? 0 : (int64_t)((uint64_t)base + (uint64_t)difference);
	if (is_time && (*value > PP_BLOCK_TIME_MAX || *value < -PP_BLOCK_TIME_MAX))
		pp_block_bad_time(io, value);
}

/* A text of at most size - 1 bytes, in place. Bytes that are no UTF-8 become '?' as they are read. */
void pp_block_text(struct pp_block_io *io, char *text, size_t size);
/* The text of an interned name; read, its id in `interned`. */
void pp_block_name(struct pp_block_io *io, uint32_t *name);
/* Reading: zeroed room for n + 1 rows, from the budget; NULL is a fault. */
void *pp_block_room(struct pp_block_io *io, size_t n, size_t row_size);
/* Number of rows, each of at least `least` bytes. Returns the array, a new one when reading; a fault leaves none and 0 rows. */
void *pp_block_array(struct pp_block_io *io, void *array, size_t *rows, size_t row_size, size_t least);

/* Fields of any integer type: a value that does not fit is a fault. */
#define PP_BLOCK_U(io, field)                                                                                                      \
	do {                                                                                                                       \
		uint64_t u_ = (uint64_t)(field);                                                                                   \
		pp_block_u(io, &u_);                                                                                               \
		if ((io)->reads)                                                                                                   \
			(field) = u_;                                                                                              \
		if ((uint64_t)(field) != u_)                                                                                       \
			pp_block_fault(io, -EBADMSG, #field);                                                                      \
	} while (0)
#define PP_BLOCK_S(io, field)                                                                                                      \
	do {                                                                                                                       \
		int64_t s_ = (int64_t)(field);                                                                                     \
		pp_block_s(io, &s_);                                                                                               \
		if ((io)->reads)                                                                                                   \
			(field) = s_;                                                                                              \
		if ((int64_t)(field) != s_)                                                                                        \
			pp_block_fault(io, -EBADMSG, #field);                                                                      \
	} while (0)
#define PP_BLOCK_T(io, field, base) pp_block_delta(io, &(field), base, 1)
#define PP_BLOCK_TEXT(io, field) pp_block_text(io, field, sizeof(field))
