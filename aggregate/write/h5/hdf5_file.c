/* HDF5 calls of pod.h5, in the form that netCDF-4 wants: creation order tracked, a scale for each dimension of each group,
 * texts as variable-length UTF-8. Called by hdf5.c and hdf5_tables.c. */
#include "aggregate/write/h5/hdf5_file.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/grow.h"
#include "core/base/why.h"

enum {
	SMALL_BYTES = 64 * 1024,
	CHUNK_ROWS = 65536,
	TRANSFER_BYTES = 4 * 1024,
	COMPACT_LINKS = 256,
	EXPECTED_LINKS = 24,
	EXPECTED_NAME = 12
};

struct pp_h5_user { /* an element of REFERENCE_LIST */
	hobj_ref_t set;
	int dimension;
};

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

/* Links lie in the group's header: an index of them costs more than all of its columns. The header has room for those of most
 * groups at once: it would grow, and be moved, with each column. */
static hid_t group_plist(hid_t class)
{
	hid_t p = H5Pcreate(class);

	H5Pset_link_creation_order(p, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
	H5Pset_attr_creation_order(p, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
	H5Pset_link_phase_change(p, COMPACT_LINKS, COMPACT_LINKS / 2);
	H5Pset_est_link_info(p, EXPECTED_LINKS, EXPECTED_NAME);
	H5Pset_obj_track_times(p, 0);
	return p;
}

static void make_lists(struct pp_h5 *h)
{
	h->transfer = H5Pcreate(H5P_DATASET_XFER);
	H5Pset_buffer(h->transfer, TRANSFER_BYTES, NULL, NULL);
	h->column = H5Pcreate(H5P_DATASET_CREATE);
	H5Pset_attr_creation_order(h->column, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
	H5Pset_obj_track_times(h->column, 0);
	h->in_group = group_plist(H5P_GROUP_CREATE);
	h->scalar = H5Screate(H5S_SCALAR);
	h->text = H5Tcopy(H5T_C_S1);
	H5Tset_cset(h->text, H5T_CSET_UTF8);
	H5Tset_strpad(h->text, H5T_STR_NULLPAD);
	h->texts = H5Tcopy(h->text);
	H5Tset_size(h->texts, H5T_VARIABLE);
	h->scales = H5Tvlen_create(H5T_STD_REF_OBJ);
	h->users = H5Tcreate(H5T_COMPOUND, sizeof(struct pp_h5_user));
	H5Tinsert(h->users, "dataset", offsetof(struct pp_h5_user, set), H5T_STD_REF_OBJ);
	H5Tinsert(h->users, "dimension", offsetof(struct pp_h5_user, dimension), H5T_NATIVE_INT);
}

int pp_h5_create(struct pp_h5 *h, const char *path, struct pp_err *err)
{
	hid_t create, access;

	*h = (struct pp_h5){.file = -1, .group = -1, .err = err};
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
	make_lists(h);
	return 0;
}

void pp_h5_create_in(struct pp_h5 *h, struct pp_h5_memory *memory, struct pp_err *err)
{
	*h = (struct pp_h5){.memory = memory, .file = -1, .group = -1, .err = err};
}

/* -ENOMEM of the memory, as the first error. */
static void check(struct pp_h5 *h, int code, const char *what)
{
	if (code && !h->code)
		h->code = pp_err_set(h->err, code, "no memory for '%s'", what);
}

int pp_h5_close(struct pp_h5 *h)
{
	errno = 0;
	if (h->file >= 0 && H5Fclose(h->file) < 0)
		fail(h, "cannot complete the file");
	h->file = -1;
	if (h->scalar > 0) {
		H5Pclose(h->transfer);
		H5Pclose(h->column);
		H5Pclose(h->in_group);
		H5Sclose(h->scalar);
		H5Tclose(h->text);
		H5Tclose(h->texts);
		H5Tclose(h->scales);
		H5Tclose(h->users);
	}
	h->scalar = 0;
	return h->code;
}

static void attribute(struct pp_h5 *h, hid_t at, const char *name, hid_t type, hid_t space, const void *value)
{
	hid_t a;

	if (h->code)
		return;
	a = H5Acreate2(at, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
	if (a < 0 || H5Awrite(a, type, value) < 0)
		fail(h, name);
	if (a >= 0)
		H5Aclose(a);
}

static void attribute_list(struct pp_h5 *h, hid_t at, const char *name, hid_t type, hsize_t n, const void *value)
{
	hid_t space = H5Screate_simple(1, &n, NULL);

	attribute(h, at, name, type, space, value);
	H5Sclose(space);
}

static void attribute_text(struct pp_h5 *h, hid_t at, const char *name, const char *text)
{
	char *good = pp_h5_utf8(text);

	if (!good) {
		h->code = pp_err_set(h->err, -ENOMEM, "no memory for attribute '%s'", name);
		return;
	}
	H5Tset_size(h->text, *good ? strlen(good) : 1);
	attribute(h, at, name, h->text, h->scalar, good);
	free(good);
}

static hid_t here(const struct pp_h5 *h)
{
	return h->group >= 0 ? h->group : h->file;
}

void pp_h5_attribute_text(struct pp_h5 *h, const char *name, const char *text)
{
	char *good = h->memory ? pp_h5_utf8(text) : NULL;

	if (h->memory)
		check(h, good ? pp_h5_memory_text(h->memory, name, good) : -ENOMEM, name);
	else if (!h->code)
		attribute_text(h, here(h), name, text);
	free(good);
}

void pp_h5_attribute_int(struct pp_h5 *h, const char *name, int64_t value)
{
	if (h->memory)
		check(h, pp_h5_memory_int(h->memory, name, value), name);
	else if (!h->code)
		attribute(h, here(h), name, H5T_NATIVE_INT64, h->scalar, &value);
}

void pp_h5_attribute_double(struct pp_h5 *h, const char *name, double value)
{
	if (h->memory)
		check(h, pp_h5_memory_real(h->memory, name, value), name);
	else if (!h->code)
		attribute(h, here(h), name, H5T_NATIVE_DOUBLE, h->scalar, &value);
}

int pp_h5_has_group(const struct pp_h5 *h, const char *name)
{
	return h->memory ? pp_h5_memory_has_group(h->memory, name) : H5Lexists(h->file, name, H5P_DEFAULT) > 0;
}

void pp_h5_group_begin(struct pp_h5 *h, const char *name)
{
	h->dims = 0;
	h->group_name = name;
	if (h->memory)
		check(h, pp_h5_memory_group(h->memory, name), name);
	if (h->code || h->memory)
		return;
	h->group = H5Gcreate2(h->file, name, H5P_DEFAULT, h->in_group, H5P_DEFAULT);
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
	h->dim[h->dims++] = (struct pp_h5_dim){.name = name, .size = size};
}

/* What H5DSset_scale() writes: texts that end with 0. */
static void make_scale(struct pp_h5 *h, struct pp_h5_dim *dim, hid_t set, const char *name)
{
	static const char class[] = "DIMENSION_SCALE";
	hid_t type = H5Tcopy(H5T_C_S1);

	H5Tset_size(type, sizeof(class));
	attribute(h, set, "CLASS", type, h->scalar, class);
	H5Tset_size(type, strlen(name) + 1);
	attribute(h, set, "NAME", type, h->scalar, name);
	H5Tclose(type);
	dim->scale = set;
	if (!h->code && H5Rcreate(&dim->ref, set, ".", H5R_OBJECT, -1) < 0)
		fail(h, dim->name);
}

/* netCDF knows a dimension without a coordinate by a scale of this name. */
static void bare_scale(struct pp_h5 *h, struct pp_h5_dim *dim)
{
	hid_t space = H5Screate_simple(1, &dim->size, NULL), d;
	char name[80];

	snprintf(name, sizeof(name), "This is a netCDF dimension but not a netCDF variable.%10llu", (unsigned long long)dim->size);
	d = H5Dcreate2(h->group, dim->name, H5T_IEEE_F32BE, space, H5P_DEFAULT, h->column, H5P_DEFAULT);
	if (d < 0)
		fail(h, dim->name);
	else
		make_scale(h, dim, d, name);
	H5Sclose(space);
}

void pp_h5_group_end(struct pp_h5 *h)
{
	for (size_t i = 0; i < h->dims; i++) {
		struct pp_h5_dim *dim = &h->dim[i];

		if (dim->users)
			attribute_list(h, dim->scale, "REFERENCE_LIST", h->users, dim->users, dim->user);
		free(dim->user);
		if (dim->scale > 0 && !h->memory)
			H5Dclose(dim->scale);
	}
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
 * A column of texts holds references alone, and netCDF refuses a checksum of those. -1: small; else to be closed. */
static hid_t large_plist(const struct pp_h5 *h, const struct pp_h5_row *row, int rank, const hsize_t *size, hid_t type)
{
	hsize_t chunk[PP_H5_MOST_DIMS], rows = rank ? size[0] : 1, row_bytes = H5Tget_size(type), most;
	hid_t p;

	for (int i = 0; i < rank; i++)
		chunk[i] = size[i];
	for (int i = 1; i < rank; i++)
		/* may warn use-of-uninitialized-value: dims_of() sets as many as rank */
		row_bytes *= size[i];
	if (!rank || rows * row_bytes <= SMALL_BYTES || H5Tget_class(type) == H5T_STRING)
		return -1;
	most = (hsize_t)CHUNK_ROWS * 8 / row_bytes;
	chunk[0] = most < 1 ? 1 : most < rows ? most : rows;
	p = H5Pcopy(h->column);
	H5Pset_chunk(p, rank, chunk);
	H5Pset_fletcher32(p);
	if (row->is_maybe)
		H5Pset_fill_value(p, type, &row->unknown);
	return p;
}

static int add_user(struct pp_h5_dim *dim, hobj_ref_t set, int dimension)
{
	struct pp_h5_user *more = pp_grow(dim->user, dim->users, &dim->users_room, sizeof(*more));

	if (!more)
		return -ENOMEM;
	dim->user = more;
	dim->user[dim->users++] = (struct pp_h5_user){.set = set, .dimension = dimension};
	return 0;
}

/* What H5DSattach_scale() writes, but each list once: it would read and write the scale's list for each column. */
static void attach(struct pp_h5 *h, hid_t d, const struct pp_h5_row *row, const size_t *dim, int rank)
{
	hvl_t list[PP_H5_MOST_DIMS] = {{0}};
	hobj_ref_t own;

	if (rank == 1 && !strcmp(row->variable, h->dim[dim[0]].name)) {
		make_scale(h, &h->dim[dim[0]], d, row->variable);
		return;
	}
	if (rank && H5Rcreate(&own, d, ".", H5R_OBJECT, -1) < 0)
		fail(h, row->variable);
	for (int i = 0; i < rank && !h->code; i++) {
		struct pp_h5_dim *to = &h->dim[dim[i]];

		if (to->scale <= 0)
			bare_scale(h, to);
		list[i] = (hvl_t){1, &to->ref};
		if (!h->code && add_user(to, own, i))
			h->code = pp_err_set(h->err, -ENOMEM, "no memory for column '%s'", row->variable);
	}
	if (rank)
		attribute_list(h, d, "DIMENSION_LIST", h->scales, (hsize_t)rank, list);
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

	for (const char *p = words; *p; p++)
		n += *p == ' ';
	for (hsize_t i = 0; i < n; i++)
		value[i] = (int8_t)i;
	attribute_list(h, d, "flag_values", H5T_NATIVE_INT8, n, value);
	if (!h->code)
		attribute_text(h, d, "flag_meanings", words);
}

/* CF conventions: the value that stands for none. Of the column's type, which readers require. */
static void attribute_unknown(struct pp_h5 *h, hid_t d, enum pp_h5_type type, int64_t bits)
{
	attribute(h, d, "_FillValue", number_type(type), h->scalar, &bits);
}

/* As dims_of(); -1 also for a coordinate that stands already. */
static int new_dims_of(const struct pp_h5 *h, const struct pp_h5_row *row, size_t *dim, hsize_t *size)
{
	int rank = h->code ? -1 : dims_of(h, row, dim, size);

	return rank == 1 && h->dim[dim[0]].scale > 0 && !strcmp(row->variable, h->dim[dim[0]].name) ? -1 : rank;
}

struct values { /* of a column: all of them, or how they are made */
	const void *data;
	const struct pp_h5_fill *fill;
};

/* All at once. */
static int make_all(const struct pp_h5_fill *fill, int rank, const hsize_t *size, size_t value, void **ret_data)
{
	size_t n = 1;
	void *data;

	for (int i = 0; i < rank; i++)
		n *= size[i];
	data = calloc(n + 1, value);
	if (!data)
		return -ENOMEM;
	fill->put(fill->context, 0, rank ? size[0] : 1, data);
	*ret_data = data;
	return 0;
}

static void write_values(struct pp_h5 *h, const char *variable, hid_t d, hid_t type, int rank, const hsize_t *size,
                         const struct values *v)
{
	void *made = NULL;
	int rc = v->fill ? make_all(v->fill, rank, size, H5Tget_size(type), &made) : 0;

	if (rc)
		h->code = h->code ? h->code : pp_err_set(h->err, rc, "no memory for column '%s'", variable);
	else if (H5Dwrite(d, type, H5S_ALL, H5S_ALL, h->transfer, v->fill ? made : v->data) < 0)
		fail(h, variable);
	free(made);
}

/* Remembers a large column for pp_h5_put_end(). NULL: no memory. */
static struct pp_h5_chunks *put_off(struct pp_h5 *h, const struct pp_h5_row *row, hid_t d, hid_t type, int rank,
                                    const hsize_t *size, hid_t large, const struct pp_h5_fill *fill)
{
	struct pp_h5_chunks *more = pp_grow(h->later, h->laters, &h->laters_room, sizeof(*more));
	hsize_t chunk[PP_H5_MOST_DIMS];

	if (!more) {
		h->code = h->code ? h->code : pp_err_set(h->err, -ENOMEM, "no memory for column '%s'", row->variable);
		return NULL;
	}
	H5Pget_chunk(large, rank, chunk);
	h->later = more;
	more += h->laters++;
	*more = (struct pp_h5_chunks){.set = d,
	                              .name = row->variable,
	                              .is_maybe = row->is_maybe,
	                              .unknown = row->unknown,
	                              .rows = size[0],
	                              .chunk_rows = chunk[0],
	                              .row_bytes = H5Tget_size(type),
	                              .fill = *fill};
	for (int i = 1; i < rank; i++)
		more->row_bytes *= size[i];
	return more;
}

void pp_h5_put_end(struct pp_h5 *h, size_t rows_at_once)
{
	size_t failed = 0;
	int rc;

	errno = 0;
	rc = h->code ? 0 : pp_h5_write_chunks(h->later, h->laters, rows_at_once, &failed);
	if (rc == -ENOMEM)
		h->code = pp_err_set(h->err, rc, "no memory for column '%s'", h->later[failed].name);
	else if (rc)
		fail(h, h->later[failed].name);
	for (size_t i = 0; i < h->laters; i++)
		if (h->later[i].closes)
			H5Dclose(h->later[i].set);
	free(h->later);
	h->later = NULL;
	h->laters = h->laters_room = 0;
}

static void put(struct pp_h5 *h, const struct pp_h5_row *row, hid_t text, const struct values *v)
{
	size_t dim[PP_H5_MOST_DIMS];
	hsize_t size[PP_H5_MOST_DIMS];
	struct pp_h5_chunks *later = NULL;
	hid_t space, large, type, d;
	int rank = new_dims_of(h, row, dim, size), own;

	if (rank < 0)
		return;
	type = row->type == PP_H5_STR ? text : number_type(row->type);
	space = rank ? H5Screate_simple(rank, size, NULL) : h->scalar;
	large = large_plist(h, row, rank, size, type);
	errno = 0;
	d = H5Dcreate2(h->group, row->variable, type, space, H5P_DEFAULT, large < 0 ? h->column : large, H5P_DEFAULT);
	if (d < 0)
		fail(h, row->variable);
	else if (v->fill && large >= 0)
		later = put_off(h, row, d, type, rank, size, large, v->fill);
	else
		write_values(h, row->variable, d, type, rank, size, v);
	if (!h->code && row->unit[0])
		attribute_text(h, d, "units", row->unit);
	if (!h->code)
		attribute_text(h, d, "long_name", row->what);
	if (!h->code && row->words)
		attribute_words(h, d, row->words);
	if (!h->code && row->is_maybe)
		attribute_unknown(h, d, row->type, row->unknown);
	if (!h->code)
		attach(h, d, row, dim, rank);
	own = d >= 0 && (!rank || h->dim[dim[0]].scale != d);
	if (later)
		later->closes = own;
	else if (own)
		H5Dclose(d);
	if (large >= 0)
		H5Pclose(large);
	if (rank)
		H5Sclose(space);
}

void pp_h5_put_row(struct pp_h5 *h, const struct pp_h5_row *row, const void *data)
{
	size_t dim[PP_H5_MOST_DIMS], n = 1;
	hsize_t size[PP_H5_MOST_DIMS];
	int rank = h->memory ? new_dims_of(h, row, dim, size) : -1;

	for (int i = 0; i < rank; i++)
		n *= size[i];
	if (rank >= 0)
		pp_h5_keep(h, row, dim, size, rank, pp_h5_widen(row->type, n, data));
	if (!h->memory)
		put(h, row, H5I_INVALID_HID, &(struct values){.data = data});
}

void pp_h5_put_row_by(struct pp_h5 *h, const struct pp_h5_row *row, const struct pp_h5_fill *fill)
{
	size_t dim[PP_H5_MOST_DIMS];
	hsize_t size[PP_H5_MOST_DIMS];
	int rank = h->memory ? new_dims_of(h, row, dim, size) : -1;

	if (rank >= 0)
		pp_h5_keep_by(h, row, dim, size, rank, fill);
	if (!h->memory)
		put(h, row, H5I_INVALID_HID, &(struct values){.fill = fill});
}

static void free_texts(char **text, size_t n)
{
	for (size_t i = 0; text && i < n; i++)
		free(text[i]);
	free(text);
}

void pp_h5_put_row_texts(struct pp_h5 *h, const struct pp_h5_row *row, size_t n, const char *(*get)(const void *context, size_t i),
                         const void *context)
{
	size_t dim[PP_H5_MOST_DIMS], i;
	hsize_t size[PP_H5_MOST_DIMS];
	char **text;
	int rank = h->memory && n ? new_dims_of(h, row, dim, size) : -1;

	if (rank >= 0)
		pp_h5_keep_texts(h, row, dim, size, rank, get, context);
	if (h->code || h->memory || !n)
		return;
	text = calloc(n, sizeof(*text));
	for (i = 0; text && i < n; i++) {
		text[i] = pp_h5_utf8(get(context, i));
		if (!text[i])
			break;
	}
	if (!text || i < n) {
		h->code = pp_err_set(h->err, -ENOMEM, "no memory for column '%s'", row->variable);
	} else {
		put(h, row, h->texts, &(struct values){.data = text});
	}
	free_texts(text, n);
}
