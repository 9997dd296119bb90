/* Writes a PNG with a palette; see png.h. */
#include "aggregate/report/data/png.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { CHUNK = 12 /* length, name, check sum */, SIGNATURE = 8, HEADER = 13, COLOURS = 256, DEPTH = 8, BY_PALETTE = 3 };

struct bytes {
	unsigned char *to;
	size_t used;
};

static void add_word(struct bytes *b, uint32_t value)
{
	for (int shift = 24; shift >= 0; shift -= 8)
		b->to[b->used++] = (unsigned char)(value >> shift);
}

static void add_chunk(struct bytes *b, const char *name, const unsigned char *data, size_t size)
{
	const size_t from = b->used + 4;

	add_word(b, (uint32_t)size);
	memcpy(b->to + b->used, name, 4);
	b->used += 4;
	if (size)
		memcpy(b->to + b->used, data, size);
	b->used += size;
	add_word(b, (uint32_t)crc32(0, b->to + from, (uInt)(size + 4)));
}

static void put_base64(const unsigned char *b, size_t size, FILE *to)
{
	static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < size; i += 3) {
		const uint32_t bits =
		        (uint32_t)b[i] << 16 | (uint32_t)(i + 1 < size ? b[i + 1] : 0) << 8 | (i + 2 < size ? b[i + 2] : 0);

		fputc(digit[bits >> 18], to);
		fputc(digit[bits >> 12 & 63], to);
		fputc(i + 1 < size ? digit[bits >> 6 & 63] : '=', to);
		fputc(i + 2 < size ? digit[bits & 63] : '=', to);
	}
}

static void add_colours(struct bytes *b, const struct pp_png *png)
{
	unsigned char rgb[3 * COLOURS], opacity[COLOURS];

	for (size_t i = 0; i < png->colours; i++) {
		memcpy(&rgb[3 * i], png->colour[i], 3);
		opacity[i] = png->colour[i][3];
	}
	add_chunk(b, "PLTE", rgb, 3 * png->colours);
	add_chunk(b, "tRNS", opacity, png->colours);
}

/* Rows, each behind the number of its filter: none. 0, or -ENOMEM. */
static int add_pixels(struct bytes *b, const struct pp_png *png, unsigned char *packed, uLongf size)
{
	const size_t row = png->width + (size_t)1, all = row * png->height;
	unsigned char *raw = calloc(all + 1, 1);
	int rc;

	if (!raw)
		return -ENOMEM;
	for (size_t y = 0; y < png->height; y++)
		memcpy(raw + y * row + 1, png->pixel + y * png->width, png->width);
	rc = compress2(packed, &size, raw, all, Z_DEFAULT_COMPRESSION) == Z_OK ? 0 : -ENOMEM;
	if (!rc)
		add_chunk(b, "IDAT", packed, size);
	free(raw);
	return rc;
}

int pp_png_put(const struct pp_png *png, FILE *to)
{
	const uLong packed = compressBound((png->width + (uLong)1) * png->height);
	unsigned char header[HEADER], *room = malloc(packed + 1);
	struct bytes b = {.to = malloc(packed + SIGNATURE + HEADER + 4 * COLOURS + 5 * CHUNK)}, head = {.to = header};
	int rc = room && b.to ? 0 : -ENOMEM;

	if (!rc) {
		memcpy(b.to, "\x89PNG\r\n\x1a\n", SIGNATURE);
		b.used = SIGNATURE;
		add_word(&head, png->width);
		add_word(&head, png->height);
		memcpy(header + head.used, (const unsigned char[]){DEPTH, BY_PALETTE, 0, 0, 0}, 5);
		add_chunk(&b, "IHDR", header, HEADER);
		add_colours(&b, png);
		rc = add_pixels(&b, png, room, packed);
	}
	if (!rc) {
		add_chunk(&b, "IEND", NULL, 0);
		put_base64(b.to, b.used, to);
	}
	free(room);
	free(b.to);
	return rc;
}
