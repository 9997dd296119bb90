/* Search by halves: the border is where a walk from the first finds it. */
#include "core/base/partition.h"

#include <stdint.h>

#include "tests/test.h"

static void check_border(void)
{
	static const int sorted[] = {1, 3, 3, 3, 8, 9, 9, 12};

	for (size_t n = 0; n <= sizeof(sorted) / sizeof(*sorted); n++)
		for (int key = 0; key < 14; key++) {
			size_t before = 0, until = 0;

			while (before < n && sorted[before] < key)
				before++;
			while (until < n && sorted[until] <= key)
				until++;
			CHECK_INT(PP_PARTITION(n, at, sorted[at] < key), (int64_t)before);
			CHECK_INT(PP_PARTITION(n, i, sorted[i] <= key), (int64_t)until);
		}
}

static void check_times(void)
{
	int asked = 0;

	CHECK_INT(PP_PARTITION((size_t)1 << 20, at, (asked++, at < 777777)), 777777);
	CHECK_INT(asked <= 21, 1);
}

int main(void)
{
	check_border();
	check_times();
	return test_end();
}
