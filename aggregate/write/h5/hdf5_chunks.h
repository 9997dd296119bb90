/* Writes large columns of pod.h5 chunk by chunk, with HDF5's checksums, past its chunk cache: no copy of a column stands in
 * memory, and none in the cache. Chunks of zeros, in a column that can be unknown those in which all is, are left out: HDF5 reads
 * that there. Called by hdf5_file.c. */
#pragma once

#include <hdf5.h>
#include <stddef.h>
#include <stdint.h>

struct pp_h5_fill { /* values of a column */
	/* Puts rows first .. first + n - 1 of the first dimension there, in C order; of a scalar row 0. */
	void (*put)(const void *context, size_t first, size_t n, void *to);
	const void *context;
};

struct pp_h5_chunks {             /* a column */
	hid_t set;                /* of chunks of chunk_rows and the filter fletcher32 alone */
	hsize_t rows, chunk_rows; /* of the first dimension */
	size_t row_bytes;         /* of one of those rows */
	struct pp_h5_fill fill;
	const char *name;
	int is_maybe;    /* values of 64 bits can be unknown, which is: */
	int64_t unknown; /* the set's fill value */
	int closes;      /* the set is to be closed behind it; see pp_h5_put_end() */
	hsize_t done;    /* rows */
	uint8_t *chunk;  /* where `done` is */
};

/* Columns of one table, some rows of each in turns: these rows stay in the processor's cache. 0, -1: HDF5 failed, -ENOMEM; then
 * *ret_failed is the column. */
int pp_h5_write_chunks(struct pp_h5_chunks *column, size_t columns, hsize_t rows_at_once, size_t *ret_failed);
