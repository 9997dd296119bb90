/* Drops rows, and puts them behind those of other rings; see rows.h. Called by the readers. */
#include "aggregate/read/ring/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void pp_rows_drop(void *row, size_t *n, size_t size, size_t time_at, int64_t from, int64_t to)
{
	char *rows = row;
	size_t kept = 0;

	for (size_t i = 0; i < *n; i++) {
		int64_t time;

		memcpy(&time, rows + i * size + time_at, sizeof(time));
		if (time < from || time > to)
			memmove(rows + kept++ * size, rows + i * size, size);
	}
	*n = kept;
}

int pp_rows_append(void *rows_of, size_t *rows, const void *more, size_t n, size_t size)
{
	char *list, *grown;

	if (!n)
		return 0;
	memcpy(&list, rows_of, sizeof(list));
	grown = realloc(list, (*rows + n) * size);
	if (!grown)
		return -ENOMEM;
	memcpy(grown + *rows * size, more, n * size);
	memcpy(rows_of, &grown, sizeof(grown)); /* its owner's now */
	*rows += n;
	/* cppcheck-suppress memleak ; the list is the rank's */
	return 0;
}
