/* Numbers of JSON as text to integers, exactly: no double between. Pure. Called by fields.c and finish.c. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Microseconds (integer, fraction or with exponent) to ns, rounded to the nearest. 0; -1: not a number, or beyond int64. */
int pp_kineto_ns(const char *text, size_t length, int64_t *ret_ns);
/* The part before the point. Returns 0; -1: not a number, or beyond int64. */
int pp_kineto_integer(const char *text, size_t length, int64_t *ret_value);
/* The same for 0 to 2^64 - 1: addresses. */
int pp_kineto_unsigned(const char *text, size_t length, uint64_t *ret_value);

/* Between two tokens of JSON. */
static inline int kineto_is_blank(char c)
{
	return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}
