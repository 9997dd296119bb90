/* XSpace to a file, front to back, in bounded memory. In: fields and events in file order. Out: bytes at a descriptor that can
 * seek. Messages whose length is not known yet get a five-byte length that pp_xstream_end() fills in. Called by
 * aggregate/write/xspace. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "proto/xspace_build.h"

enum { PP_XSTREAM_ARENA = 1 << 18 };

struct pp_xstream {
	int fd;
	int error; /* first errno of a failed write; everything after is ignored */
	uint8_t *arena;
	size_t used;
	uint64_t base;    /* file offset of arena[0] */
	uint64_t limit;   /* no event is written past this offset: readers refuse messages of 2^31 bytes */
	uint64_t skipped; /* events left out because of it */
	uint64_t events;
};

/* `room` bytes below 2^31 are kept free for what comes after the last event (names). */
int pp_xstream_init(struct pp_xstream *s, int fd, uint64_t room, struct pp_err *err);
/* Writes what is left; the error of any write since init. */
int pp_xstream_finish(struct pp_xstream *s, struct pp_err *err);
/* Frees the arena, and writes nothing; the descriptor stays open. */
void pp_xstream_release(struct pp_xstream *s);

/* Open message `field` inside the current one; the return value goes to pp_xstream_end(). */
uint64_t pp_xstream_begin(struct pp_xstream *s, uint32_t field);
/* Ends the message that began there; those in it have ended. */
void pp_xstream_end(struct pp_xstream *s, uint64_t begun);
/* A field of the open message; an error of writing is kept until pp_xstream_finish(). */
void pp_xstream_varint(struct pp_xstream *s, uint32_t field, uint64_t value);
/* The same for `length` bytes. */
void pp_xstream_text(struct pp_xstream *s, uint32_t field, const char *text, size_t length);
/* A stat of a plane; a stat of an event is in pp_xevent. */
void pp_xstream_stat(struct pp_xstream *s, uint32_t field, const struct pp_xstat *stat);
/* One event of the open XLine. 1 written, 0 left out: too near to 2^31 bytes. */
int pp_xstream_event(struct pp_xstream *s, const struct pp_xevent *e);
/* The same with more stats than a pp_xevent has room for: `e` has none, `stat` [stats] has them. */
int pp_xstream_long_event(struct pp_xstream *s, const struct pp_xevent *e, const struct pp_xstat *stat, size_t stats);
