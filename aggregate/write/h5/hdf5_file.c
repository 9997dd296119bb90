/* HDF5 calls of pod.h5, in the form that netCDF-4 wants: creation order tracked, a scale for each dimension of each group,
 * texts as variable-length UTF-8. Called by hdf5.c and hdf5_tables.c. */
#include "aggregate/write/h5/hdf5_file.h"

#include <errno.h>
#include <hdf5_hl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/why.h"
#include "core/ring/utf8.h"

enum { SMALL_BYTES = 64 * 1024, CHUNK_ROWS = 65536, TRANSFER_BYTES = 32 * 1024 };

static herr_t keep_deepest(unsigned n, const H5E_error2_t *e, void *text)
{
	(void)n;
	if (e->desc && e->desc[0])
		*(const char **)text = e->desc;
	return 0;
}

/* The caller of HDF5 translates its stack: the deepest entry names the cause (no space left on device). */
static void fail(struct pp_h5 *h, const char *what)
{
	const char *why = "HDF5 gave no reason";
	int code = errno == ENOSPC || errno == EDQUOT || errno == EFBIG ? errno : EIO;

	if (h->code)
		return;
	H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_deepest, &why);
	if (code != EIO)
		why = pp_why(code);
	h->code = pp_err_set(h->err, -code, "%s: %s", what, why);
	H5Eclear2(H5E_DEFAULT);
}

static hid_t group_plist(hid_t class)
{
	hid_t p = H5Pcreate(class);

	H5Pset_link_creation_order(p, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
	H5Pset_attr_creation_order(p, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
	return p;
}

int pp_h5_create(struct pp_h5 *h, const char *path, struct pp_err *err)
{
	hid_t create, access;

	*h = (struct pp_h5){.file = -1, .group = -1, .transfer = -1, .err = err};
	if (H5open() < 0)
		return pp_err_set(err, -EIO, "HDF5 does not start");
	H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
	create = group_plist(H5P_FILE_CREATE);
	access = H5Pcreate(H5P_FILE_ACCESS);
	H5Pset_libver_bounds(access, H5F_LIBVER_V18, H5F_LIBVER_V18);
	errno = 0;
	h->file = H5Fcreate(path, H5F_ACC_TRUNC, create, access);
	H5Pclose(access);
	H5Pclose(create);
	if (h->file < 0) {
		fail(h, "cannot create the file");
		return h->code;
	}
	h->transfer = H5Pcreate(H5P_DATASET_XFER);
	H5Pset_buffer(h->transfer, TRANSFER_BYTES, NULL, NULL);
	return 0;
}

int pp_h5_close(struct pp_h5 *h)
{
	errno = 0;
	if (h->file >= 0 && H5Fclose(h->file) < 0)
		fail(h, "cannot complete the file");
	h->file = -1;
	if (h->transfer >= 0)
		H5Pclose(h->transfer);
	h->transfer = -1;
	return h->code;
}

static void attribute(struct pp_h5 *h, hid_t at, const char *name, hid_t type, const void *value)
{
	hid_t space = H5Screate(H5S_SCALAR), a = -1;

	if (h->code)
		goto close_space;
	a = H5Acreate2(at, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
	if (a < 0 || H5Awrite(a, type, value) < 0)
		fail(h, name);
	if (a >= 0)
		H5Aclose(a);
close_space:
	H5Sclose(space);
}

static hid_t text_type(size_t size)
{
	hid_t t = H5Tcopy(H5T_C_S1);

	H5Tset_size(t, size ? size : 1);
	H5Tset_cset(t, H5T_CSET_UTF8);
	H5Tset_strpad(t, H5T_STR_NULLPAD);
	return t;
}

/* Readers refuse bytes that are no UTF-8. To be freed. */
static char *utf8_of(const char *text)
{
	size_t length = strlen(text);
	char *good;

	if (pp_utf8_good(text, length))
		return strdup(text);
	good = malloc(pp_utf8_repair(NULL, text, length) + 1);
	if (good)
		good[pp_utf8_repair(good, text, length)] = '\0';
	return good;
}

static void attribute_text(struct pp_h5 *h, hid_t at, const char *name, const char *text)
{
	char *good = utf8_of(text);
	hid_t type;

	if (!good) {
		h->code = pp_err_set(h->err, -ENOMEM, "no memory for attribute '%s'", name);
		return;
	}
	type = text_type(strlen(good));
	attribute(h, at, name, type, good);
	H5Tclose(type);
	free(good);
}

static hid_t here(const struct pp_h5 *h)
{
	return h->group >= 0 ? h->group : h->file;
}

void pp_h5_attribute_text(struct pp_h5 *h, const char *name, const char *text)
{
	if (!h->code)
		attribute_text(h, here(h), name, text);
}

void pp_h5_attribute_int(struct pp_h5 *h, const char *name, int64_t value)
{
	if (!h->code)
		attribute(h, here(h), name, H5T_NATIVE_INT64, &value);
}

void pp_h5_attribute_double(struct pp_h5 *h, const char *name, double value)
{
	if (!h->code)
		attribute(h, here(h), name, H5T_NATIVE_DOUBLE, &value);
}

void pp_h5_group_begin(struct pp_h5 *h, const char *name)
{
	hid_t create;

	h->dims = 0;
	h->group_name = name;
	if (h->code)
		return;
	create = group_plist(H5P_GROUP_CREATE);
	h->group = H5Gcreate2(h->file, name, H5P_DEFAULT, create, H5P_DEFAULT);
	H5Pclose(create);
	if (h->group < 0)
		fail(h, name);
}

static size_t find_dim(const struct pp_h5 *h, const char *name, size_t length)
{
	size_t i = 0;

	while (i < h->dims && (strncmp(h->dim[i].name, name, length) || h->dim[i].name[length]))
		i++;
	return i;
}

void pp_h5_dim(struct pp_h5 *h, const char *name, size_t size)
{
	if (find_dim(h, name, strlen(name)) < h->dims)
		return;
	h->dim[h->dims].name = name;
	h->dim[h->dims].size = size;
	h->dim[h->dims].scale = 0;
	h->dims++;
}

/* netCDF knows a dimension without a coordinate by a scale of this name. */
static void bare_scale(struct pp_h5 *h, size_t i)
{
	hid_t space = H5Screate_simple(1, &h->dim[i].size, NULL), d;
	char name[80];

	snprintf(name, sizeof(name), "This is a netCDF dimension but not a netCDF variable.%10llu",
	         (unsigned long long)h->dim[i].size);
	d = H5Dcreate2(h->group, h->dim[i].name, H5T_IEEE_F32BE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
	if (d < 0 || H5DSset_scale(d, name) < 0)
		fail(h, h->dim[i].name);
	h->dim[i].scale = d;
	H5Sclose(space);
}

void pp_h5_group_end(struct pp_h5 *h)
{
	for (size_t i = 0; i < h->dims; i++)
		if (h->dim[i].scale > 0)
			H5Dclose(h->dim[i].scale);
	if (h->group >= 0)
		H5Gclose(h->group);
	h->group = -1;
	h->dims = 0;
}

static hid_t number_type(enum pp_h5_type t)
{
	switch (t) {
	case PP_H5_I8:
		return H5T_NATIVE_INT8;
	case PP_H5_I32:
		return H5T_NATIVE_INT32;
	case PP_H5_I64:
		return H5T_NATIVE_INT64;
	case PP_H5_U32:
		return H5T_NATIVE_UINT32;
	case PP_H5_U64:
		return H5T_NATIVE_UINT64;
	default:
		return H5T_NATIVE_DOUBLE;
	}
}

/* Small columns lie in one piece; large ones in chunks with checksums. No compression: the rank may be waiting for the file.
 * A column of texts holds references alone, and netCDF refuses a checksum of those. */
static hid_t column_plist(int rank, const hsize_t *size, hid_t type)
{
	hid_t p = H5Pcreate(H5P_DATASET_CREATE);
	hsize_t chunk[PP_H5_MOST_DIMS], rows = 1, row_bytes = H5Tget_size(type);

	H5Pset_attr_creation_order(p, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
	for (int i = 0; i < rank; i++)
		chunk[i] = size[i];
	for (int i = 1; i < rank; i++)
		/* may warn use-of-uninitialized-value: dims_of() sets as many as rank */
		row_bytes *= size[i];
	rows = rank ? size[0] : 1;
	if (rank && rows * row_bytes > SMALL_BYTES && H5Tget_class(type) != H5T_STRING) {
		hsize_t most = (hsize_t)CHUNK_ROWS * 8 / row_bytes;

		chunk[0] = most < 1 ? 1 : most < rows ? most : rows;
		H5Pset_chunk(p, rank, chunk);
		H5Pset_fletcher32(p);
	}
	return p;
}

static void attach(struct pp_h5 *h, hid_t d, const struct pp_h5_row *row, const size_t *dim, int rank)
{
	if (rank == 1 && !strcmp(row->variable, h->dim[dim[0]].name)) {
		if (H5DSset_scale(d, row->variable) < 0)
			fail(h, row->variable);
		h->dim[dim[0]].scale = d;
		return;
	}
	for (int i = 0; i < rank && !h->code; i++) {
		if (h->dim[dim[i]].scale <= 0)
			bare_scale(h, dim[i]);
		if (!h->code && H5DSattach_scale(d, h->dim[dim[i]].scale, (unsigned)i) < 0)
			fail(h, row->variable);
	}
}

/* Dimensions of a row: indexes into h->dim. -1: one of them is empty, or this group does not have it. */
static int dims_of(const struct pp_h5 *h, const struct pp_h5_row *row, size_t *dim, hsize_t *size)
{
	const char *p = row->dims;
	int rank = 0;

	while (*p) {
		size_t n = strcspn(p, " ");

		dim[rank] = find_dim(h, p, n);
		if (dim[rank] == h->dims || !h->dim[dim[rank]].size)
			return -1;
		size[rank] = h->dim[dim[rank]].size;
		rank++;
		p += n + (p[n] == ' ');
	}
	return rank;
}

/* CF conventions: what the numbers of a code mean. */
static void attribute_words(struct pp_h5 *h, hid_t d, const char *words)
{
	int8_t value[INT8_MAX];
	hsize_t n = 1;
	hid_t space, a;

	for (const char *p = words; *p; p++)
		n += *p == ' ';
	for (hsize_t i = 0; i < n; i++)
		value[i] = (int8_t)i;
	space = H5Screate_simple(1, &n, NULL);
	a = H5Acreate2(d, "flag_values", H5T_NATIVE_INT8, space, H5P_DEFAULT, H5P_DEFAULT);
	if (a < 0 || H5Awrite(a, H5T_NATIVE_INT8, value) < 0)
		fail(h, "flag_values");
	H5Aclose(a);
	H5Sclose(space);
	if (!h->code)
		attribute_text(h, d, "flag_meanings", words);
}

static void put(struct pp_h5 *h, const struct pp_h5_row *row, hid_t text, const void *data)
{
	size_t dim[PP_H5_MOST_DIMS];
	hsize_t size[PP_H5_MOST_DIMS];
	hid_t space, create, type, d;
	int rank;

	if (h->code)
		return;
	rank = dims_of(h, row, dim, size);
	if (rank < 0 || (rank == 1 && h->dim[dim[0]].scale > 0 && !strcmp(row->variable, h->dim[dim[0]].name)))
		return;
	type = row->type == PP_H5_STR ? text : number_type(row->type);
	space = rank ? H5Screate_simple(rank, size, NULL) : H5Screate(H5S_SCALAR);
	create = column_plist(rank, size, type);
	errno = 0;
	d = H5Dcreate2(h->group, row->variable, type, space, H5P_DEFAULT, create, H5P_DEFAULT);
	if (d < 0 || H5Dwrite(d, type, H5S_ALL, H5S_ALL, h->transfer, data) < 0)
		fail(h, row->variable);
	if (!h->code && row->unit[0])
		attribute_text(h, d, "units", row->unit);
	if (!h->code)
		attribute_text(h, d, "long_name", row->what);
	if (!h->code && row->words)
		attribute_words(h, d, row->words);
	if (!h->code)
		attach(h, d, row, dim, rank);
	if (d >= 0 && (!rank || h->dim[dim[0]].scale != d))
		H5Dclose(d);
	H5Pclose(create);
	H5Sclose(space);
}

void pp_h5_put_row(struct pp_h5 *h, const struct pp_h5_row *row, const void *data)
{
	put(h, row, H5I_INVALID_HID, data);
}

void pp_h5_put_row_texts(struct pp_h5 *h, const struct pp_h5_row *row, size_t n, const char *(*get)(const void *context, size_t i),
                         const void *context)
{
	char **text;
	hid_t type;
	size_t i;

	if (h->code || !n)
		return;
	text = calloc(n, sizeof(*text));
	for (i = 0; text && i < n; i++) {
		text[i] = utf8_of(get(context, i));
		if (!text[i])
			break;
	}
	if (text && i == n) {
		type = text_type(H5T_VARIABLE);
		put(h, row, type, text);
		H5Tclose(type);
	} else {
		h->code = pp_err_set(h->err, -ENOMEM, "no memory for column '%s'", row->variable);
	}
	for (i = 0; text && i < n; i++)
		free(text[i]);
	free(text);
}
