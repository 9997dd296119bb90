/* For qsort() of int64_t and of double, ascending. Used by core/step and aggregate. */
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
