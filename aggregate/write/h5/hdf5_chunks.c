/* Chunks of columns, each summed and written as soon as it is full; see hdf5_chunks.h. */
#include "aggregate/write/h5/hdf5_chunks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { DIMS_MOST = 4, SUM_BYTES = 4, AT_ONCE = 256, MODULUS = 65535 };

static uint64_t modulo(uint64_t sum)
{
	return sum ? (sum - 1) % MODULUS + 1 : 0;
}

/* As HDF5's filter: of words of 16 bits, high byte first, modulo 65535, where only zeros have the sum 0. */
static uint32_t fletcher32(const uint8_t *p, size_t bytes)
{
	uint64_t one = 0, two = 0;

	for (size_t words = bytes / 2, n; words; words -= n, p += 2 * n) {
		uint32_t plain = 0, weighted = 0;

		n = words < AT_ONCE ? words : AT_ONCE;
		for (uint32_t i = 0; i < n; i++) {
			uint32_t word = (uint32_t)p[2 * i] << 8 | p[2 * i + 1];

			plain += word;
			weighted += word * ((uint32_t)n - i);
		}
		two = modulo(two + one * n + weighted);
		one = modulo(one + plain);
	}
	if (bytes % 2) {
		one = modulo(one + ((uint32_t)*p << 8));
		two = modulo(two + one);
	}
	return (uint32_t)two << 16 | (uint32_t)one;
}

/* Is it what HDF5 reads where a chunk is missing? Fills the part behind `filled` with that. */
static int is_left_out(const struct pp_h5_chunks *c, size_t bytes, size_t filled)
{
	const size_t width = c->is_maybe ? sizeof(c->unknown) : 1;
	const int64_t value = c->is_maybe ? c->unknown : 0;

	for (size_t at = filled; at + width <= bytes; at += width) /* the last one is whole too */
		memcpy(c->chunk + at, &value, width);
	return bytes >= width && !memcmp(c->chunk, &value, width) && !memcmp(c->chunk, c->chunk + width, bytes - width);
}

/* The chunk whose first row is `first`, of which it has so many. */
static int write_chunk(struct pp_h5_chunks *c, hsize_t first, hsize_t rows)
{
	const size_t bytes = (size_t)c->chunk_rows * c->row_bytes, filled = (size_t)rows * c->row_bytes;
	const hsize_t offset[DIMS_MOST] = {first};
	uint32_t sum;

	if (is_left_out(c, bytes, filled))
		return 0;
	sum = fletcher32(c->chunk, bytes);
	for (int i = 0; i < SUM_BYTES; i++)
		c->chunk[bytes + (size_t)i] = (uint8_t)(sum >> 8 * i);
	return H5Dwrite_chunk(c->set, H5P_DEFAULT, 0, offset, bytes + SUM_BYTES, c->chunk) < 0 ? -1 : 0;
}

/* Until so many rows are done. */
static int advance(struct pp_h5_chunks *c, hsize_t to)
{
	int rc = 0;

	for (hsize_t n; c->done < to && !rc; c->done += n) {
		const hsize_t at = c->done % c->chunk_rows;

		n = to - c->done < c->chunk_rows - at ? to - c->done : c->chunk_rows - at;
		c->fill.put(c->fill.context, (size_t)c->done, (size_t)n, c->chunk + (size_t)at * c->row_bytes);
		if (at + n == c->chunk_rows || c->done + n == c->rows)
			rc = write_chunk(c, c->done - at, at + n);
	}
	return rc;
}

int pp_h5_write_chunks(struct pp_h5_chunks *column, size_t columns, hsize_t rows_at_once, size_t *ret_failed)
{
	hsize_t most = 0;
	int rc = 0;

	for (size_t i = 0; i < columns && !rc; i++) {
		column[i].done = 0;
		column[i].chunk = malloc((size_t)column[i].chunk_rows * column[i].row_bytes + SUM_BYTES);
		most = column[i].rows > most ? column[i].rows : most;
		rc = column[i].chunk ? 0 : -ENOMEM;
		*ret_failed = i;
	}
	for (hsize_t to = 0; to < most && !rc;) {
		to = most - to < rows_at_once ? most : to + rows_at_once;
		for (size_t i = 0; i < columns && !rc; i++) {
			rc = advance(&column[i], to < column[i].rows ? to : column[i].rows);
			*ret_failed = i;
		}
	}
	for (size_t i = 0; i < columns; i++) {
		free(column[i].chunk);
		column[i].chunk = NULL;
	}
	return rc;
}
