/* Adds up shapes; see hlo_shape.h. */
#include "aggregate/read/xspace/hlo_shape.h"

#include <string.h>

#include "aggregate/read/xspace/hlo.h"

/* Types of arrays by their numbers in XLA's xla_data.proto; those of "" are none, or tuples and tokens. */
static const struct {
	char name[14];
	unsigned char bits;
} types[] = {
        {"", 0},           {"pred", 8},       {"s8", 8},       {"s16", 16},      {"s32", 32},   {"s64", 64},
        {"u8", 8},         {"u16", 16},       {"u32", 32},     {"u64", 64},      {"f16", 16},   {"f32", 32},
        {"f64", 64},       {"", 0},           {"", 0},         {"c64", 64},      {"bf16", 16},  {"", 0},
        {"c128", 128},     {"f8e5m2", 8},     {"f8e4m3fn", 8}, {"s4", 4},        {"u4", 4},     {"f8e4m3b11fnuz", 8},
        {"f8e5m2fnuz", 8}, {"f8e4m3fnuz", 8}, {"s2", 2},       {"u2", 2},        {"f8e4m3", 8}, {"f8e3m4", 8},
        {"s1", 1},         {"u1", 1},         {"f4e2m1fn", 4}, {"f8e8m0fnu", 8},
};

unsigned pp_hlo_type_bits_of(uint64_t type)
{
	return type < sizeof(types) / sizeof(types[0]) ? types[type].bits : 0;
}

unsigned pp_hlo_type_bits(const char *type, size_t length)
{
	for (size_t i = 0; length && i < sizeof(types) / sizeof(types[0]); i++)
		if (strnlen(types[i].name, sizeof(types[i].name)) == length && !memcmp(types[i].name, type, length))
			return types[i].bits;
	return 0;
}

uint64_t pp_hlo_times(uint64_t a, uint64_t b)
{
	uint64_t product;

	return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

void pp_hlo_shape_add(struct pp_hlo_shape *s, uint64_t elements, unsigned bits)
{
	const uint64_t all = pp_hlo_times(elements, bits);

	s->is_unknown |= all >= UINT64_MAX / 2 || s->bytes >= UINT64_MAX / 4;
	if (!s->is_unknown)
		s->bytes += all / 8 + (all % 8 > 0);
}

void pp_hlo_shape_part(struct pp_hlo_shape *s, unsigned part, uint64_t before)
{
	if (part < sizeof(s->part) / sizeof(s->part[0]))
		s->part[part] = s->bytes - before;
	s->parts = part + 1;
}

void pp_hlo_take_shape(struct pp_hlo *h, const struct pp_hlo_shape *s)
{
	/* What a start gives is operand, result and contexts; an all-reduce's is the result only. */
	if (s->is_unknown)
		return;
	if (h->part == PP_HLO_START && h->kind != PP_HLO_ALL_REDUCE && s->parts >= 2) {
		h->operand = s->part[0];
		h->result = s->part[1];
	} else if (h->part != PP_HLO_START || h->kind == PP_HLO_ALL_REDUCE) {
		h->result = s->bytes;
	}
}
