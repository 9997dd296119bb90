/* Chunks of a column, each filled, summed and written at once; see hdf5_chunks.h. */
#include "aggregate/write/h5/hdf5_chunks.h"

#include <errno.h>
#include <stdint.h>
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

int pp_h5_write_chunks(hid_t set, const struct pp_h5_chunks *c)
{
	const size_t bytes = (size_t)c->chunk_rows * c->row_bytes;
	hsize_t offset[DIMS_MOST] = {0};
	uint8_t *chunk = calloc(1, bytes + SUM_BYTES);
	int rc = chunk ? 0 : -ENOMEM;

	for (hsize_t first = 0, n; first < c->rows && !rc; first += n) {
		uint32_t sum;

		n = c->rows - first < c->chunk_rows ? c->rows - first : c->chunk_rows;
		if (n < c->chunk_rows) /* the last one is whole too */
			memset(chunk, 0, bytes);
		c->fill->put(c->fill->context, (size_t)first, (size_t)n, chunk);
		sum = fletcher32(chunk, bytes);
		for (int i = 0; i < SUM_BYTES; i++)
			chunk[bytes + (size_t)i] = (uint8_t)(sum >> 8 * i);
		offset[0] = first;
		rc = H5Dwrite_chunk(set, H5P_DEFAULT, 0, offset, bytes + SUM_BYTES, chunk) < 0 ? -1 : 0;
	}
	free(chunk);
	return rc;
}
