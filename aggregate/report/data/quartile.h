/* Least, lower quartile, median, upper quartile and largest of many values: some of them, none between two. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { PP_QUARTILES = 5 };

/* Of v[n], n > 0, which stays as it is. `few`: room for n values. The upper quartile is as far from its end as the lower. */
void pp_quartiles(const int64_t *v, size_t n, int64_t *few, int64_t ret_quartile[PP_QUARTILES]);
