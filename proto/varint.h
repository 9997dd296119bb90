/* Base-128 varints, the portable way: one byte per iteration. Used by proto/ and, for everything that is not an event, by
 * xspace_stream. The caller has room: PP_VARINT_MAX bytes. */
#pragma once

#include <stdint.h>

enum { PP_VARINT_MAX = 10 };

static inline uint8_t *pp_varint_put(uint8_t *p, uint64_t v)
{
	while (v >= 0x80) {
		*p++ = (uint8_t)(v | 0x80);
		v >>= 7;
	}
	*p++ = (uint8_t)v;
	return p;
}

/* Always five bytes: room for a length below 2^35 that is known only later. */
static inline uint8_t *pp_varint_put_padded(uint8_t *p, uint64_t v)
{
	for (int i = 0; i < 4; i++) {
		*p++ = (uint8_t)(v | 0x80);
		v >>= 7;
	}
	*p++ = (uint8_t)(v & 0x7f);
	return p;
}
