/* Chunks that are summed and written past HDF5's cache: HDF5 reads them, and checks their sums by its own filter. */
#include "aggregate/write/h5/hdf5_chunks.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/test.h"

static uint64_t seed = 88172645463325252ULL;

static uint64_t dice(uint64_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % below;
}

struct made {
	const uint8_t *bytes;
	size_t row_bytes;
};

static void fill(const void *context, size_t first, size_t n, void *to)
{
	const struct made *m = context;

	memcpy(to, m->bytes + first * m->row_bytes, n * m->row_bytes);
}

enum { COLUMNS = 3 };

static hid_t make_set(hid_t file, const char *name, const hsize_t *size, hsize_t chunk_rows)
{
	hsize_t chunk[2] = {chunk_rows, size[1]};
	hid_t space = H5Screate_simple(2, size, NULL), p = H5Pcreate(H5P_DATASET_CREATE), d;

	H5Pset_chunk(p, 2, chunk);
	H5Pset_fletcher32(p);
	d = H5Dcreate2(file, name, H5T_NATIVE_UINT8, space, H5P_DEFAULT, p, H5P_DEFAULT);
	H5Pclose(p);
	H5Sclose(space);
	return d;
}

/* Columns of other lengths and chunks. kind 0: zeros, 1: all bits, 2: any, 3: zeros but for the last byte */
static void round_trip(hid_t file, int number)
{
	struct pp_h5_chunks chunks[COLUMNS];
	struct made made[COLUMNS];
	uint8_t *v[COLUMNS];
	size_t bytes[COLUMNS], failed = 0;
	char name[COLUMNS][24];

	for (int k = 0; k < COLUMNS; k++) {
		hsize_t size[2] = {1 + dice(3000), 1 + dice(40)};
		const int kind = (number + k) % 4;

		bytes[k] = size[0] * size[1];
		v[k] = malloc(bytes[k]);
		for (size_t i = 0; i < bytes[k]; i++)
			v[k][i] = kind == 1 ? 255 : kind == 2 ? (uint8_t)dice(256) : kind == 3 && i == bytes[k] - 1;
		made[k] = (struct made){v[k], size[1]};
		chunks[k] = (struct pp_h5_chunks){
		        .rows = size[0], .chunk_rows = 1 + dice(size[0]), .row_bytes = size[1], .fill = {fill, &made[k]}};
		snprintf(name[k], sizeof(name[k]), "d%d-%d", number, k);
		chunks[k].set = make_set(file, name[k], size, chunks[k].chunk_rows);
	}
	CHECK_INT(pp_h5_write_chunks(chunks, COLUMNS, 1 + dice(4000), &failed), 0);
	for (int k = 0; k < COLUMNS; k++) {
		const int kind = (number + k) % 4;
		uint8_t *back = malloc(bytes[k]);
		hid_t d;

		H5Dclose(chunks[k].set);
		d = H5Dopen2(file, name[k], H5P_DEFAULT);
		memset(back, 7, bytes[k]);
		CHECK(H5Dread(d, H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, back) >= 0);
		CHECK(!memcmp(v[k], back, bytes[k]));
		if (kind == 0)
			CHECK_INT((int64_t)H5Dget_storage_size(d), 0);
		if (kind == 3) /* the last one alone */
			CHECK_INT((int64_t)H5Dget_storage_size(d), (int64_t)(chunks[k].chunk_rows * made[k].row_bytes + 4));
		H5Dclose(d);
		free(v[k]);
		free(back);
	}
}

/* Of a column that can be unknown, a chunk without a value is left out, also the last one; and zeros are not. */
static void unknown_is_left_out(hid_t file)
{
	enum { ROWS = 10, CHUNK = 4 };
	int64_t v[ROWS], back[ROWS] = {0};
	const hsize_t size = ROWS, chunk = CHUNK;
	const int64_t unknown = INT64_MIN;
	hid_t space = H5Screate_simple(1, &size, NULL), p = H5Pcreate(H5P_DATASET_CREATE);
	struct made made = {(const uint8_t *)v, sizeof(*v)};
	struct pp_h5_chunks one = {.rows = ROWS,
	                           .chunk_rows = CHUNK,
	                           .row_bytes = sizeof(*v),
	                           .is_maybe = 1,
	                           .unknown = unknown,
	                           .fill = {fill, &made}};
	size_t failed;

	for (int i = 0; i < ROWS; i++)
		v[i] = i / CHUNK == 1 ? 0 : unknown;
	H5Pset_chunk(p, 1, &chunk);
	H5Pset_fletcher32(p);
	H5Pset_fill_value(p, H5T_NATIVE_INT64, &unknown);
	one.set = H5Dcreate2(file, "unknown", H5T_NATIVE_INT64, space, H5P_DEFAULT, p, H5P_DEFAULT);
	CHECK_INT(pp_h5_write_chunks(&one, 1, ROWS, &failed), 0);
	CHECK_INT((int64_t)H5Dget_storage_size(one.set), CHUNK * (int64_t)sizeof(*v) + 4);
	CHECK(H5Dread(one.set, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, back) >= 0 && !memcmp(v, back, sizeof(v)));
	H5Dclose(one.set);
	H5Pclose(p);
	H5Sclose(space);
}

int main(void)
{
	char path[] = "/tmp/pp-chunks-XXXXXX";
	int fd = mkstemp(path);
	hid_t file;

	CHECK(fd >= 0);
	file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
	unknown_is_left_out(file);
	for (int i = 0; i < 100 && !test_failures; i++)
		round_trip(file, i);
	H5Fclose(file);
	close(fd);
	unlink(path);
	return test_end();
}
