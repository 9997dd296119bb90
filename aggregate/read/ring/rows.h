/* Side arrays of a ring with one time a row: dropped by time. Pure. Internal to aggregate/read. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Drops rows of `size` bytes whose time, an int64_t `time_at` bytes into the row, is in [from, to]; sets *n. */
void pp_rows_drop(void *row, size_t *n, size_t size, size_t time_at, int64_t from, int64_t to);
