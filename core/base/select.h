/* The k-th least of values without sorting them all. Used by aggregate. */
#pragma once

#include <stdint.h>
#include <stdlib.h>

#include "core/base/compare.h"

/* v[k] as in the sorted array, k < n; none before it is larger, none after it smaller. Sorts where pivots are bad again and
 * again, so that no values are slow. */
static inline int64_t pp_select_int64(int64_t *v, size_t n, size_t k)
{
	size_t low = 0, high = n;

	for (int turns = 128; high - low > 16 && turns; turns--) {
		/* may warn use-of-uninitialized-value: the caller has set n values */
		int64_t a = v[low], b = v[low + (high - low) / 2], c = v[high - 1];
		int64_t pivot = a < b ? (b < c ? b : a < c ? c : a) : (a < c ? a : b < c ? c : b);
		size_t less = low, at = low, more = high;

		while (at < more) {
			/* NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign): the caller has set n values */
			int64_t x = v[at]; /* may warn use-of-uninitialized-value: the same */

			if (x < pivot) {
				v[at++] = v[less]; /* may warn use-of-uninitialized-value: the same */
				v[less++] = x;
			} else if (x > pivot) {
				v[at] = v[--more];
				v[more] = x;
			} else {
				at++;
			}
		}
		if (k >= less && k < more)
			return v[k];
		if (k < less)
			high = less;
		else
			low = more;
	}
	qsort(v + low, high - low, sizeof(*v), pp_compare_int64);
	return v[k];
}
