/* Encoder of XEvents: two bodies of one text, portable and with BMI2's pdep, chosen once; a byte loop for rare values. Called by
 * xspace_stream. */
#include "proto/xspace_build.h"

#include <stddef.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "proto/varint.h"

/* metadata 1+5, offset 1+10, duration 1+10, a stat 2 + 2 + 1+10; a store of eight bytes may touch more than it gives. */
enum { MOST = 6 + 11 + 11 + PP_XEVENT_STATS * 15 };
_Static_assert(MOST < 128, "the length of an event is one byte");
_Static_assert(2 + MOST + 8 <= PP_XEVENT_BYTES, "an event fits its room");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "bytes of a varint leave in one store");

#define TAG(field, wire) ((uint8_t)((field) << 3 | (wire)))
#define INLINE __attribute__((always_inline)) static inline

/* A stat up to its value, with the length of a value of eight bytes: struct pp_xstat has the bytes between. */
#define LONG_VARINT(v) __builtin_expect((v) >> 56 != 0, 0) /* more than eight bytes */
#define STAT_HEAD ((uint64_t)TAG(4, 2) | UINT64_C(11) << 8 | (uint64_t)TAG(1, 0) << 16)
_Static_assert(offsetof(struct pp_xstat, id) == 3 && offsetof(struct pp_xstat, kind) == 4, "a stat begins as it is written");

/* Seven bits into each byte. */
INLINE uint64_t spread_portable(uint64_t v)
{
	v = (v & 0x0fffffff) | (v & 0x00fffffff0000000ull) << 4;
	v = (v & 0x00003fff00003fffull) | (v & 0x0fffc0000fffc000ull) << 2;
	return (v & 0x007f007f007f007full) | (v & 0x3f803f803f803f80ull) << 1;
}

#if defined(__x86_64__)
#define BMI2 __attribute__((target("bmi2,lzcnt")))

BMI2 INLINE uint64_t spread_pdep(uint64_t v)
{
	return __builtin_ia32_pdep_di(v, 0x7f7f7f7f7f7f7f7full);
}
#endif

/* Any event, a byte at a time: those with a double or a value of nine or ten bytes. */
__attribute__((noinline)) static uint8_t *put_bytes(uint8_t *start, const struct pp_xevent *e)
{
	uint8_t *p = start + 2;

	*p++ = TAG(1, 0);
	p = pp_varint_put(p, e->metadata);
	*p++ = TAG(2, 0);
	p = pp_varint_put(p, (uint64_t)e->offset_ps);
	*p++ = TAG(3, 0);
	p = pp_varint_put(p, (uint64_t)e->duration_ps);
	for (uint32_t i = 0; i < e->stats; i++) {
		const struct pp_xstat *s = &e->stat[i];
		uint8_t *stat = p;

		p[0] = TAG(4, 2);
		p[2] = TAG(1, 0);
		p[3] = s->id;
		p[4] = s->kind;
		if (s->kind == PP_XSTAT_DOUBLE) {
			memcpy(p + 5, &s->d, 8);
			p += 13;
		} else {
			p = pp_varint_put(p + 5, s->u);
		}
		stat[1] = (uint8_t)(p - stat - 2);
	}
	start[0] = TAG(PP_XLINE_EVENTS, 2);
	start[1] = (uint8_t)(p - start - 2);
	return p;
}

/* clang-format off */
#define ENCODE(NAME, LINKAGE, ATTRIBUTE, SPREAD)                                                        \
	/* Bytes of a varint below 2^56; *ret_free: how many bits of all but the first it leaves. */     \
	ATTRIBUTE INLINE uint64_t NAME##_varint(uint64_t v, unsigned *ret_free)                         \
	{                                                                                               \
		uint64_t bytes = SPREAD(v);                                                             \
                                                                                                        \
		*ret_free = (unsigned)__builtin_clzll(bytes | 1) & 0x38u;                               \
		return bytes | 0x0080808080808080ull >> *ret_free;                                      \
	}                                                                                               \
                                                                                                        \
	ATTRIBUTE INLINE uint8_t *NAME##_time(uint8_t *p, uint8_t tag, uint64_t v)                      \
	{                                                                                               \
		unsigned free;                                                                          \
		uint64_t bytes = NAME##_varint(v, &free);                                               \
                                                                                                        \
		*p = tag;                                                                               \
		memcpy(p + 1, &bytes, 8);                                                               \
		return p - free / 8 + 9;                                                                \
	}                                                                                               \
                                                                                                        \
	ATTRIBUTE INLINE uint8_t *NAME##_stat(uint8_t *p, const struct pp_xstat *s)                     \
	{                                                                                               \
		unsigned free;                                                                          \
		uint64_t head, bytes = NAME##_varint(s->u, &free);                                      \
                                                                                                        \
		memcpy(&head, s, 8);                                                                    \
		head += STAT_HEAD - ((uint64_t)free << 5);                                              \
		memcpy(p, &head, 8);                                                                    \
		memcpy(p + 5, &bytes, 8);                                                               \
		return p - free / 8 + 13;                                                                \
	}                                                                                               \
                                                                                                        \
	ATTRIBUTE LINKAGE uint8_t *NAME(uint8_t *start, const struct pp_xevent *e)                      \
	{                                                                                               \
		unsigned free;                                                                          \
		uint64_t metadata = NAME##_varint(e->metadata, &free) << 8 | TAG(1, 0);                 \
		const struct pp_xstat *end = e->stat + e->stats;                                        \
		uint8_t *p = start + 11 - free / 8;                                                      \
		uint16_t head;                                                                          \
                                                                                                        \
		if (LONG_VARINT((uint64_t)(e->offset_ps | e->duration_ps)))                             \
			return put_bytes(start, e);                                                     \
		memcpy(start + 2, &metadata, 8);                                                        \
		p = NAME##_time(p, TAG(2, 0), (uint64_t)e->offset_ps);                                  \
		p = NAME##_time(p, TAG(3, 0), (uint64_t)e->duration_ps);                                \
		for (const struct pp_xstat *s = e->stat; s < end; s++) {                                \
			if (LONG_VARINT(s->u) || __builtin_expect(s->kind == PP_XSTAT_DOUBLE, 0))       \
				return put_bytes(start, e);                                             \
			p = NAME##_stat(p, s);                                                          \
		}                                                                                       \
		head = (uint16_t)(TAG(PP_XLINE_EVENTS, 2) | (p - start - 2) << 8);                      \
		memcpy(start, &head, 2);                                                                \
		return p;                                                                               \
	}
/* clang-format on */

ENCODE(pp_xevent_put_portable, , , spread_portable)

#if defined(__x86_64__)
ENCODE(put_pdep, static, BMI2, spread_pdep)
#endif

static uint8_t *put_first(uint8_t *p, const struct pp_xevent *e);

pp_xevent_encode *_Atomic pp_xevent_encoder = put_first;

#if defined(__x86_64__)
/* Not every compiler knows lzcnt by name. */
static int has_bmi2(void)
{
	unsigned a, b, c, d;

	__builtin_cpu_init();
	return __builtin_cpu_supports("bmi2") && __get_cpuid(0x80000001, &a, &b, &c, &d) && (c & bit_LZCNT);
}
#endif

static uint8_t *put_first(uint8_t *p, const struct pp_xevent *e)
{
	pp_xevent_encode *put = pp_xevent_put_portable;

#if defined(__x86_64__)
	if (has_bmi2())
		put = put_pdep;
#endif
	atomic_store_explicit(&pp_xevent_encoder, put, memory_order_relaxed);
	return put(p, e);
}
