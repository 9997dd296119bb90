/* A small picture as text. In: a colour's number per pixel, colours. Out: PNG in base64, for an address of data. Pure. Used by
 * plain_chart.c. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct pp_png {
	uint32_t width, height;
	uint8_t *pixel;             /* [height][width] */
	const uint8_t (*colour)[4]; /* [colours] red, green, blue, opacity; at most 256 */
	size_t colours;
};

/* 0, or -ENOMEM. */
int pp_png_put(const struct pp_png *png, FILE *to);
