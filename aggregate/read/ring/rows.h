/* Side arrays of a ring with one time a row: bounded, and dropped by time. Internal to aggregate/read. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The list with room for one more behind its *n rows of `size` bytes. From `most` rows on the older half goes first, counted in
 * *lost. NULL: no memory, counted too. `lost` may be NULL. */
void *pp_rows_grow(void *row, size_t *n, size_t *room, size_t size, size_t most, uint64_t *lost);
/* Drops rows of `size` bytes whose time, an int64_t `time_at` bytes into the row, is in [from, to]; sets *n. */
void pp_rows_drop(void *row, size_t *n, size_t size, size_t time_at, int64_t from, int64_t to);
