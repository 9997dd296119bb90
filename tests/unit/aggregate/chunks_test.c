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

/* kind 0: zeros, 1: all bits, 2: any */
static void round_trip(hid_t file, int number, int kind)
{
	hsize_t size[2] = {1 + dice(3000), 1 + dice(40)}, chunk[2] = {1 + dice(size[0]), size[1]};
	size_t bytes = size[0] * size[1];
	uint8_t *v = malloc(bytes), *back = malloc(bytes);
	const struct made made = {v, size[1]};
	const struct pp_h5_fill how = {fill, &made};
	const struct pp_h5_chunks chunks = {.rows = size[0], .chunk_rows = chunk[0], .row_bytes = size[1], .fill = &how};
	hid_t space = H5Screate_simple(2, size, NULL), p = H5Pcreate(H5P_DATASET_CREATE), d;
	char name[16];

	for (size_t i = 0; i < bytes; i++)
		v[i] = kind == 0 ? 0 : kind == 1 ? 255 : (uint8_t)dice(256);
	H5Pset_chunk(p, 2, chunk);
	H5Pset_fletcher32(p);
	snprintf(name, sizeof(name), "d%d", number);
	d = H5Dcreate2(file, name, H5T_NATIVE_UINT8, space, H5P_DEFAULT, p, H5P_DEFAULT);
	CHECK_INT(pp_h5_write_chunks(d, &chunks), 0);
	H5Dclose(d);
	d = H5Dopen2(file, name, H5P_DEFAULT);
	CHECK(H5Dread(d, H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, back) >= 0);
	CHECK(!memcmp(v, back, bytes));
	H5Dclose(d);
	H5Pclose(p);
	H5Sclose(space);
	free(v);
	free(back);
}

int main(void)
{
	char path[] = "/tmp/pp-chunks-XXXXXX";
	int fd = mkstemp(path);
	hid_t file;

	CHECK(fd >= 0);
	file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
	for (int i = 0; i < 150 && !test_failures; i++)
		round_trip(file, i, i % 3);
	H5Fclose(file);
	close(fd);
	unlink(path);
	return test_end();
}
