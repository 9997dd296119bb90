/* Search by halves in what is sorted. Pure. */
#pragma once

#include <stddef.h>

/* How many of the indices below `n` are before the border: `is_before`, an expression of the index `at`, holds for them, which are
 * the first, and for no other. It is computed log2(n) times; `n` once. */
#define PP_PARTITION(n, at, is_before)                                                                                             \
	__extension__({                                                                                                            \
		size_t pp_low = 0, pp_high = (n);                                                                                  \
                                                                                                                                   \
		while (pp_low < pp_high) {                                                                                         \
			const size_t at = pp_low + (pp_high - pp_low) / 2;                                                         \
                                                                                                                                   \
			if (is_before)                                                                                             \
				pp_low = at + 1;                                                                                   \
			else                                                                                                       \
				pp_high = at;                                                                                      \
		}                                                                                                                  \
		pp_low;                                                                                                            \
	})
