/* Copies of a few bytes without a call, for texts in records. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Copy n <= 32 bytes: a few overlapping moves instead of a call. */
static inline void pp_copy_short(char *to, const char *from, size_t n)
{
	if (n >= 16) {
		char a[16], b[16];

		memcpy(a, from, 16);
		memcpy(b, from + (n - 16), 16);
		memcpy(to, a, 16);
		memcpy(to + (n - 16), b, 16);
	} else if (n >= 8) {
		uint64_t a, b;

		memcpy(&a, from, 8);
		memcpy(&b, from + (n - 8), 8);
		memcpy(to, &a, 8);
		memcpy(to + (n - 8), &b, 8);
	} else if (n >= 4) {
		uint32_t a, b;

		memcpy(&a, from, 4);
		memcpy(&b, from + (n - 4), 4);
		memcpy(to, &a, 4);
		memcpy(to + (n - 4), &b, 4);
	} else if (n) {
		to[0] = from[0];
		to[n / 2] = from[n / 2];
		to[n - 1] = from[n - 1];
	}
}
