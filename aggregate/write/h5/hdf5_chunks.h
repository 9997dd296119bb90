/* Writes a large column of pod.h5 chunk by chunk, with HDF5's checksums, past its chunk cache: no copy of the column stands in
 * memory, and none in the cache. Called by hdf5_file.c. */
#pragma once

#include <hdf5.h>
#include <stddef.h>

struct pp_h5_fill { /* values of a column */
	/* Puts rows first .. first + n - 1 of the first dimension there, in C order; of a scalar row 0. */
	void (*put)(const void *context, size_t first, size_t n, void *to);
	const void *context;
};

struct pp_h5_chunks {
	hsize_t rows, chunk_rows; /* of the first dimension */
	size_t row_bytes;         /* of one of those rows */
	const struct pp_h5_fill *fill;
};

/* The dataset has chunks of chunk_rows and the filter fletcher32 alone. 0, -1: HDF5 failed, -ENOMEM. */
int pp_h5_write_chunks(hid_t set, const struct pp_h5_chunks *c);
