/* Side arrays of a ring; see rows.h. Called by the readers. */
#include "aggregate/read/ring/rows.h"

#include <string.h>

#include "core/base/grow.h"

void *pp_rows_grow(void *row, size_t *n, size_t *room, size_t size, size_t most, uint64_t *lost)
{
	size_t dropped = *n >= most ? most / 2 : 0;
	void *grown;

	if (dropped) {
		*n -= dropped;
		memmove(row, (char *)row + dropped * size, *n * size);
	}
	grown = pp_grow(row, *n, room, size);
	if (lost)
		*lost += dropped + !grown;
	return grown;
}

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
