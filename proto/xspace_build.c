/* Encoder of XEvents: two bodies of one text, portable and with BMI2's pdep, chosen once. Called by xspace_stream. */
#include "proto/xspace_build.h"

#include <stddef.h>
#include <string.h>

#include "proto/varint.h"

/* metadata 1+5, offset 1+10, duration 1+10, a stat 2 + 1+2 + 1+10; a pdep store may touch 8 bytes more than it gives. */
enum { MOST = 6 + 11 + 11 + PP_XEVENT_STATS * 16 };
_Static_assert(MOST < 128, "the length of an event is one byte");
_Static_assert(2 + MOST + 8 <= PP_XEVENT_BYTES, "an event fits its room");

#define TAG(field, wire) ((uint8_t)((field) << 3 | (wire)))

#define ENCODE(NAME, ATTRIBUTE, VARINT)                                                                                            \
	ATTRIBUTE static uint8_t *NAME(uint8_t *start, const struct pp_xevent *e)                                                  \
	{                                                                                                                          \
		uint8_t *p = start + 2;                                                                                            \
                                                                                                                                   \
		*p++ = TAG(1, 0);                                                                                                  \
		p = VARINT(p, e->metadata);                                                                                        \
		*p++ = TAG(2, 0);                                                                                                  \
		p = VARINT(p, (uint64_t)e->offset_ps);                                                                             \
		*p++ = TAG(3, 0);                                                                                                  \
		p = VARINT(p, (uint64_t)e->duration_ps);                                                                           \
		for (uint32_t i = 0; i < e->stats; i++) {                                                                          \
			const struct pp_xstat *s = &e->stat[i];                                                                    \
			uint8_t *stat = p;                                                                                         \
                                                                                                                                   \
			p[0] = TAG(4, 2);                                                                                          \
			p[2] = TAG(1, 0);                                                                                          \
			p = VARINT(p + 3, s->id);                                                                                  \
			if (s->kind == PP_XSTAT_DOUBLE) {                                                                          \
				*p++ = TAG(PP_XSTAT_DOUBLE, 1);                                                                    \
				memcpy(p, &s->d, 8);                                                                               \
				p += 8;                                                                                            \
			} else {                                                                                                   \
				*p++ = TAG(s->kind, 0);                                                                            \
				p = VARINT(p, s->u);                                                                               \
			}                                                                                                          \
			stat[1] = (uint8_t)(p - stat - 2);                                                                         \
		}                                                                                                                  \
		start[0] = TAG(PP_XLINE_EVENTS, 2);                                                                                \
		start[1] = (uint8_t)(p - start - 2);                                                                               \
		return p;                                                                                                          \
	}

ENCODE(put_portable, , pp_varint_put)

#if defined(__x86_64__)
/* Spread seven bits into each byte, then set the continuation bit of all bytes but the last. */
__attribute__((target("bmi2"), always_inline)) static inline uint8_t *varint_pdep(uint8_t *p, uint64_t v)
{
	if (__builtin_expect(v >> 56, 0))
		return pp_varint_put(p, v);
	unsigned bits = 63u - (unsigned)__builtin_clzll(v | 1);
	unsigned more = bits / 7;
	uint64_t bytes = __builtin_ia32_pdep_di(v, 0x7f7f7f7f7f7f7f7full);

	bytes |= 0x8080808080808080ull & ((1ull << (8 * more)) - 1);
	memcpy(p, &bytes, 8);
	return p + more + 1;
}

ENCODE(put_pdep, __attribute__((target("bmi2"))), varint_pdep)
#endif

static uint8_t *put_first(uint8_t *p, const struct pp_xevent *e);

static uint8_t *(*put)(uint8_t *, const struct pp_xevent *) = put_first;

static uint8_t *put_first(uint8_t *p, const struct pp_xevent *e)
{
#if defined(__x86_64__)
	__builtin_cpu_init();
	put = __builtin_cpu_supports("bmi2") ? put_pdep : put_portable;
#else
	put = put_portable;
#endif
	return put(p, e);
}

uint8_t *pp_xevent_put(uint8_t *p, const struct pp_xevent *e)
{
	return put(p, e);
}

uint8_t *pp_xevent_put_portable(uint8_t *p, const struct pp_xevent *e)
{
	return put_portable(p, e);
}
