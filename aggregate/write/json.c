/* Writes JSON texts, numbers and packed arrays of the page; see json.h. */
#include "aggregate/write/json.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "core/base/huge.h"
#include "core/base/known.h"
#include "core/base/utf8.h"

enum {
	SHORT_ARRAY = 48,
	LARGE_ARRAY = 32768,
	BYTE = 1,
	WORD = 4,
	DOUBLE = 8,
	ZLIB_LEVEL = 6,
	ZLIB_FAST = 3,
	RAW_DEFLATE = -15,
	ZLIB_MEMORY = 8
};
enum { NOISE_SAMPLE = 16384, NOISE_PERCENT = 104, PLANE_BYTES = 64 /* that the end of a plane takes at most */ };

void pp_json_text(FILE *to, const char *text)
{
	size_t length = strlen(text);

	fputc('"', to);
	for (size_t i = 0, n; i < length; i += n ? n : 1) {
		unsigned char c = (unsigned char)text[i];

		n = pp_utf8_sequence(text + i, length - i);
		if (!n || (n > 1 && !pp_utf8_shown(text + i, n)))
			fputs("\\ufffd", to);
		else if (n > 1)
			fwrite(text + i, 1, n, to);
		else if (c < ' ' || c == 0x7f || strchr("\"\\<>&", c))
			fprintf(to, "\\u%04x", c);
		else
			fputc(c, to);
	}
	fputc('"', to);
}

void pp_json_int(FILE *to, int64_t value)
{
	if (value == INT64_MIN)
		fputs("null", to);
	else
		fprintf(to, value > PP_JSON_EXACT || value < -PP_JSON_EXACT ? "\"%" PRId64 "\"" : "%" PRId64, value);
}

void pp_json_real(FILE *to, double value)
{
	if (isfinite(value))
		fprintf(to, "%.17g", value);
	else
		fputs("null", to);
}

void pp_json_base64(FILE *to, const unsigned char *p, size_t n)
{
	static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char text[4096];
	size_t at = 0;

	for (size_t i = 0; i < n; i += 3) {
		uint32_t v = (uint32_t)p[i] << 16 | (i + 1 < n ? (uint32_t)p[i + 1] << 8 : 0) | (i + 2 < n ? p[i + 2] : 0);

		text[at++] = digit[v >> 18];
		text[at++] = digit[v >> 12 & 63];
		text[at++] = (char)(i + 1 < n ? digit[v >> 6 & 63] : '=');
		text[at++] = (char)(i + 2 < n ? digit[v & 63] : '=');
		if (at == sizeof(text) || i + 3 >= n) {
			fwrite(text, 1, at, to);
			at = 0;
		}
	}
}

/* Are these bytes so evenly spread that no code is shorter than they are, and in no runs? Some of them tell: how often two are
 * equal, and neighbours. */
static int is_noise(const unsigned char *p, size_t n)
{
	const size_t step = n / NOISE_SAMPLE + 1;
	uint64_t count[UINT8_MAX + 1] = {0}, pairs = 0, seen = 0, equal = 0;

	for (size_t i = 0; i < n; i += step, seen++) {
		count[p[i]]++;
		equal += i && p[i] == p[i - 1];
	}
	for (size_t i = 0; i <= UINT8_MAX; i++)
		pairs += count[i] * count[i];
	return seen > NOISE_SAMPLE / 2 && equal * (UINT8_MAX + 1) < 4 * seen &&
	       (pairs - seen) * (UINT8_MAX + 1) * 100 <= seen * seen * NOISE_PERCENT;
}

/* Planes of n bytes each. Those of noise are stored. */
/* NOLINTNEXTLINE(readability-non-const-parameter): zlib wants next_in so */
static int put_deflated(FILE *to, unsigned char *bytes, size_t planes, size_t n, int best, int strategy)
{
	z_stream z = {.next_in = bytes};
	unsigned char *out;
	uLong most;
	int code = -ENOMEM, level = best, done = Z_OK;

	if (planes * n > UINT_MAX || deflateInit2(&z, level, Z_DEFLATED, RAW_DEFLATE, ZLIB_MEMORY, strategy) != Z_OK)
		return code;
	most = deflateBound(&z, (uLong)(planes * n)) + (uLong)planes * PLANE_BYTES;
	out = pp_huge_malloc(most + 1);
	z.next_out = out;
	z.avail_out = (uInt)most;
	for (size_t i = 0; i < planes && out && done == Z_OK; i++) {
		const int wanted = strategy == Z_RLE && is_noise(bytes + i * n, n) ? Z_NO_COMPRESSION : best;

		if (wanted != level && deflateParams(&z, wanted, strategy) != Z_OK)
			break;
		level = wanted;
		z.avail_in = (uInt)n;
		done = deflate(&z, i + 1 < planes ? Z_NO_FLUSH : Z_FINISH);
	}
	if (out && done == Z_STREAM_END) {
		pp_json_base64(to, out, most - z.avail_out);
		code = 0;
	}
	deflateEnd(&z);
	free(out);
	return code;
}

int pp_json_deflated(FILE *to, unsigned char *bytes, size_t size)
{
	return put_deflated(to, bytes, 1, size, ZLIB_FAST, Z_DEFAULT_STRATEGY);
}

void pp_json_plane(unsigned char *bytes, const uint64_t *bits, size_t n, size_t width)
{
	for (size_t b = 0; b < width; b++)
		for (size_t i = 0; i < n; i++)
			bytes[b * n + i] = (unsigned char)(bits[i] >> 8 * b);
}

static int pack(FILE *to, const char *type, size_t width, const uint64_t *bits, size_t n)
{
	unsigned char *bytes = pp_huge_malloc(n * width + 1);
	int code;

	if (!bytes)
		return -ENOMEM;
	pp_json_plane(bytes, bits, n, width);
	fprintf(to, "{\"t\":\"%s\",\"n\":%zu,\"z\":\"", type, n);
	/* The lower bytes of many measured times are noise, the upper ones equal: no search for matches finds more. */
	code = put_deflated(to, bytes, width, n, ZLIB_LEVEL, n > LARGE_ARRAY ? Z_RLE : Z_DEFAULT_STRATEGY);
	fputs("\"}", to);
	free(bytes);
	return code;
}

static int pack_reals(FILE *to, const double *value, size_t n)
{
	uint64_t *bits = malloc((n + 1) * sizeof(*bits));
	int code;

	if (!bits)
		return -ENOMEM;
	memcpy(bits, value, n * sizeof(*bits));
	code = pack(to, "f8", DOUBLE, bits, n);
	free(bits);
	return code;
}

static int ints_as_reals(FILE *to, const int64_t *value, size_t n)
{
	double *real = malloc((n + 1) * sizeof(*real));
	int code;

	if (!real)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		real[i] = pp_known_real(value[i]);
	code = pack_reals(to, real, n);
	free(real);
	return code;
}

int pp_json_ints(FILE *to, const int64_t *value, size_t n)
{
	uint64_t all = 0; /* bits of all values */
	int exact = n > SHORT_ARRAY;

	for (size_t i = 0; i < n; i++)
		all |= (uint64_t)value[i];
	if (n > SHORT_ARRAY && all <= UINT8_MAX)
		return pack(to, "u1", BYTE, (const uint64_t *)value, n);
	if (n > SHORT_ARRAY && all <= UINT32_MAX)
		return pack(to, "u4", WORD, (const uint64_t *)value, n);
	for (size_t i = 0; i < n && exact; i++)
		exact = (value[i] >= -PP_JSON_EXACT && value[i] <= PP_JSON_EXACT) || !pp_is_known(value[i]);
	if (exact)
		return ints_as_reals(to, value, n);
	fputc('[', to);
	for (size_t i = 0; i < n; i++) {
		if (i)
			fputc(',', to);
		pp_json_int(to, value[i]);
	}
	fputc(']', to);
	return 0;
}

int pp_json_reals(FILE *to, const double *value, size_t n)
{
	int finite = 1;

	for (size_t i = 0; i < n; i++)
		finite &= !isinf(value[i]);
	if (n > SHORT_ARRAY && finite)
		return pack_reals(to, value, n);
	fputc('[', to);
	for (size_t i = 0; i < n; i++) {
		if (i)
			fputc(',', to);
		pp_json_real(to, value[i]);
	}
	fputc(']', to);
	return 0;
}
