/* Quartiles by counting: values are counted in buckets of equal width, and only those of a quartile's bucket are looked at again.
 * See quartile.h. */
#include "aggregate/report/data/quartile.h"

#include <string.h>

#include "core/base/select.h"

enum { BUCKETS = 1024, COUNTED_FROM = 512 /* fewer values are selected sooner than buckets are cleared */ };

static size_t bucket_of(int64_t value, int64_t low, unsigned shift)
{
	return (size_t)(((uint64_t)value - (uint64_t)low) >> shift);
}

static void count(const int64_t *v, size_t n, int64_t *few, const size_t *rank, int64_t *quartile)
{
	const int64_t low = quartile[0];
	size_t values[BUCKETS] = {0}, bucket = 0, before = 0;
	unsigned shift = 0;

	while (bucket_of(quartile[PP_QUARTILES - 1], low, shift) >= BUCKETS)
		shift++;
	for (size_t i = 0; i < n; i++)
		values[bucket_of(v[i], low, shift)]++;
	for (size_t q = 1; q < PP_QUARTILES - 1; q++) {
		size_t found = 0;

		while (before + values[bucket] <= rank[q])
			before += values[bucket++];
		for (size_t i = 0; i < n; i++) {
			few[found] = v[i];
			found += bucket_of(v[i], low, shift) == bucket;
		}
		quartile[q] = pp_select_int64(few, found, rank[q] - before);
	}
}

void pp_quartiles(const int64_t *v, size_t n, int64_t *few, int64_t ret_quartile[PP_QUARTILES])
{
	const size_t rank[PP_QUARTILES] = {0, (n - 1) / 4, (n - 1) * 2 / 4, n - 1 - (n - 1) / 4, n - 1};
	int64_t low = v[0], high = v[0];

	for (size_t i = 1; i < n; i++) {
		low = v[i] < low ? v[i] : low;
		high = v[i] > high ? v[i] : high;
	}
	for (size_t q = 0; q < PP_QUARTILES; q++)
		ret_quartile[q] = low;
	ret_quartile[PP_QUARTILES - 1] = high;
	if (low == high)
		return;
	if (n >= COUNTED_FROM) {
		count(v, n, few, rank, ret_quartile);
		return;
	}
	memcpy(few, v, n * sizeof(*few));
	for (size_t q = 1; q < PP_QUARTILES - 1; q++)
		ret_quartile[q] = pp_select_int64(few, n, rank[q]);
}
