/* Bytes of shapes of XLA, as texts and messages have them. Called by hlo_text.c and hlo_proto.c. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct pp_hlo;

struct pp_hlo_shape {
	uint64_t bytes;   /* of all arrays */
	uint64_t part[2]; /* of the first two parts of a tuple */
	unsigned parts;
	int is_unknown; /* a type that is not known, or a size that no memory has */
};

/* Bits of an element of a type by its name, "bf16"; 0: it has none, or is not known. */
unsigned pp_hlo_type_bits(const char *type, size_t length);
/* The same by the number that messages have. */
unsigned pp_hlo_type_bits_of(uint64_t type);
/* The product; UINT64_MAX: too large. */
uint64_t pp_hlo_times(uint64_t a, uint64_t b);
/* Adds an array. */
void pp_hlo_shape_add(struct pp_hlo_shape *s, uint64_t elements, unsigned bits);
/* The n-th part of the tuple is what was added since the shape had so many bytes. */
void pp_hlo_shape_part(struct pp_hlo_shape *s, unsigned part, uint64_t before);
/* Sets bytes of the collective by the shape of what it gives. */
void pp_hlo_take_shape(struct pp_hlo *h, const struct pp_hlo_shape *s);
