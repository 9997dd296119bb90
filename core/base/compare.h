/* Orders that qsort() takes, all ascending: of int64_t, of double, and of structs by one to three of their numbers. */
#pragma once

#include <stdint.h>

static inline int pp_compare_int64(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static inline int pp_compare_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

#define PP_ORDER(x, y) (((x) > (y)) - ((x) < (y)))

/* Defines the function `name`: orders structs of `type` by `one`, then by `two`, then by `three`. */
#define PP_COMPARE_BY(name, type, one)                                                                                             \
	static int name(const void *a, const void *b)                                                                              \
	{                                                                                                                          \
		const type *x = a, *y = b;                                                                                         \
                                                                                                                                   \
		return PP_ORDER(x->one, y->one);                                                                                   \
	}
#define PP_COMPARE_BY_2(name, type, one, two)                                                                                      \
	static int name(const void *a, const void *b)                                                                              \
	{                                                                                                                          \
		const type *x = a, *y = b;                                                                                         \
		const int order = PP_ORDER(x->one, y->one);                                                                        \
                                                                                                                                   \
		return order ? order : PP_ORDER(x->two, y->two);                                                                   \
	}
#define PP_COMPARE_BY_3(name, type, one, two, three)                                                                               \
	static int name(const void *a, const void *b)                                                                              \
	{                                                                                                                          \
		const type *x = a, *y = b;                                                                                         \
		const int order = PP_ORDER(x->one, y->one), next = PP_ORDER(x->two, y->two);                                       \
                                                                                                                                   \
		return order ? order : next ? next : PP_ORDER(x->three, y->three);                                                 \
	}
