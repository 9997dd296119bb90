/* Orders that qsort() and bsearch() take: of numbers, and of structs by some of their members. Pure. */
#pragma once

#include <stdint.h>

#define PP_ORDER(x, y) (((x) > (y)) - ((x) < (y)))

/* Defines the function `name`: orders the structs `x` and `y` of `type` by `order`, for example PP_UP(rank) ?: PP_DOWN(size). */
#define PP_COMPARE(name, type, order)                                                                                              \
	static inline int name(const void *pp_a, const void *pp_b)                                                                 \
	{                                                                                                                          \
		const type *x = pp_a;                                                                                              \
		const type *y = pp_b;                                                                                              \
                                                                                                                                   \
		return __extension__(order);                                                                                       \
	}

#define PP_UP(member) PP_ORDER(x->member, y->member)
#define PP_DOWN(member) PP_ORDER(y->member, x->member)

/* By one to three members, all ascending. */
#define PP_COMPARE_BY(name, type, one) PP_COMPARE(name, type, PP_UP(one))
#define PP_COMPARE_BY_2(name, type, one, two) PP_COMPARE(name, type, PP_UP(one) ?: PP_UP(two))
#define PP_COMPARE_BY_3(name, type, one, two, three) PP_COMPARE(name, type, PP_UP(one) ?: PP_UP(two) ?: PP_UP(three))

PP_COMPARE(pp_compare_int32, int32_t, PP_ORDER(*x, *y))
PP_COMPARE(pp_compare_int64, int64_t, PP_ORDER(*x, *y))
PP_COMPARE(pp_compare_double, double, PP_ORDER(*x, *y))
