/* UTF-8 of names: validates it, and replaces what is invalid. In: bytes of records. Out: text for intern.c. Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Length of the valid sequence at p (1-4), 0 where it is none: overlong, surrogate, above U+10FFFF, cut, or NUL. */
static inline size_t pp_utf8_sequence(const char *text, size_t n)
{
	const uint8_t *p = (const uint8_t *)text;
	uint8_t low = 0x80, high = 0xbf;
	size_t more;

	if (p[0] < 0x80)
		return p[0] != 0;
	if (p[0] < 0xc2 || p[0] > 0xf4)
		return 0;
	more = p[0] < 0xe0 ? 1 : p[0] < 0xf0 ? 2 : 3;
	if (n <= more)
		return 0;
	if (p[0] == 0xe0)
		low = 0xa0;
	else if (p[0] == 0xed)
		high = 0x9f;
	else if (p[0] == 0xf0)
		low = 0x90;
	else if (p[0] == 0xf4)
		high = 0x8f;
	if (p[1] < low || p[1] > high)
		return 0;
	for (size_t i = 2; i <= more; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	return more + 1;
}

/* The same, but 0 too for characters that must not be in a name on a line: controls (also newline and tab), line and paragraph
 * separators, and marks that change the direction of text. With them a name could imitate lines of podprof. */
static inline size_t pp_utf8_shown(const char *text, size_t n)
{
	size_t length = pp_utf8_sequence(text, n);
	const uint8_t *p = (const uint8_t *)text;

	if (length == 1)
		return p[0] >= ' ' && p[0] != 0x7f;
	if (length == 2 && ((p[0] == 0xc2 && p[1] < 0xa0) || (p[0] == 0xd8 && p[1] == 0x9c))) /* U+0080 to U+009F, U+061C */
		return 0;
	if (length != 3 || p[0] != 0xe2)
		return length;
	if (p[1] == 0x80 && (p[2] == 0x8e || p[2] == 0x8f || (p[2] >= 0xa8 && p[2] <= 0xae))) /* U+200E, F; U+2028 to U+202E */
		return 0;
	return p[1] == 0x81 && p[2] >= 0xa6 && p[2] <= 0xa9 ? 0 : length; /* U+2066 to U+2069 */
}

static inline int pp_utf8_good(const char *text, size_t length)
{
	for (size_t i = 0, n; i < length; i += n) {
		n = pp_utf8_shown(text + i, length - i);
		if (!n)
			return 0;
	}
	return 1;
}

/* Write the text with U+FFFD for each byte of what is not shown, terminated; returns its length. `to` NULL: only the length. */
static inline size_t pp_utf8_repair(char *to, const char *text, size_t length)
{
	size_t out = 0;

	for (size_t i = 0, n; i < length; i += n) {
		size_t put;
		const char *from = text + i;

		n = pp_utf8_shown(from, length - i);
		put = n;
		if (!n) {
			n = 1;
			put = 3;
			from = "\xef\xbf\xbd";
		}
		if (to)
			memcpy(to + out, from, put);
		out += put;
	}
	if (to)
		to[out] = '\0';
	return out;
}

/* Length of whole characters of valid text, at most `most`: the precision for "%.*s". */
static inline int pp_utf8_fit(const char *text, int most)
{
	int n = (int)strnlen(text, (size_t)most + 1);

	if (n <= most)
		return n;
	/* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): strnlen() has read these bytes */
	for (n = most; n > 0 && ((uint8_t)text[n] & 0xc0) == 0x80; n--)
		;
	return n;
}
