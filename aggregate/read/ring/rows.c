/* Drops rows of a time; see rows.h. Called by the readers. */
#include "aggregate/read/ring/rows.h"

#include <string.h>

void pp_rows_drop(void *row, size_t *n, size_t size, size_t time_at, int64_t from, int64_t to)
{
	char *rows = row;
	size_t remaining = 0;

	for (size_t i = 0; i < *n; i++) {
		int64_t time;

		memcpy(&time, rows + i * size + time_at, sizeof(time));
		if (time < from || time > to)
			memmove(rows + remaining++ * size, rows + i * size, size);
	}
	*n = remaining;
}
