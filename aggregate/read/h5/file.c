/* HDF5 calls that read pod.h5: attributes, names, columns of any table. See file.h; the dataset is file_dataset.c. */
#include "aggregate/read/h5/file.h"

#include <errno.h>
#include <hdf5.h>
#include <hdf5_hl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aggregate/dataset/hdf5_layout.h"
#include "aggregate/read/h5/file_memory.h"
#include "core/base/grow.h"
#include "core/base/huge.h"
#include "core/base/known.h"
#include "core/base/why.h"

enum { MOST_VALUES = INT_MAX, MOST_TEXT = 1 << 20, DEFLATE_MOST = 1032 /* largest factor by which a byte expands */ };

enum { TRANSFER_BYTES = 32 << 10 };

struct scale { /* a dimension's dataset */
	hobj_ref_t ref;
	char name[PP_H5_FILE_NAME];
};

struct group { /* whose names were asked for */
	char *path;
	char **name; /* in the order of the file */
	size_t names, room;
};

struct seen { /* a column that was looked at */
	char *path;
	hid_t set; /* open */
	struct pp_h5_file_column column;
	const char *why; /* it cannot be read */
};

struct pp_h5_file {
	const struct pp_h5_memory *memory; /* NULL: there is a file */
	hid_t file;
	struct seen *seen; /* in the order of first looks: the page comes back to each column some times */
	size_t seens, seens_room, next;
	hid_t transfer; /* HDF5's buffer of its own, 1 MiB, is cleared for each column */
	struct group *group;
	size_t groups, groups_room;
	struct scale *scale;
	size_t scales, scales_room;
	size_t bytes;
	char *path;
	char *text; /* last attribute */
	struct pp_intern *names;
};

static int damaged(const struct pp_h5_file *h5, const char *group, const char *variable, const char *why, struct pp_err *err)
{
	return pp_err_set(err, -EINVAL, "cannot read '%s': /%s/%s %s. The file is damaged: copy it again, or record the job again",
	                  h5->path, group, variable, why);
}

static int open_file(struct pp_h5_file *h5, struct pp_err *err)
{
	struct stat st;

	if (access(h5->path, R_OK) || stat(h5->path, &st)) {
		int code = errno;

		return pp_err_set(err, -code, "cannot read '%s': %s. Give a session's directory", h5->path, pp_why(code));
	}
	if (!S_ISREG(st.st_mode))
		return pp_err_set(err, -EINVAL, "cannot read '%s': it is not a file. Give a session's directory", h5->path);
	h5->bytes = (size_t)st.st_size;
	h5->file = H5Fopen(h5->path, H5F_ACC_RDONLY, H5P_DEFAULT);
	if (h5->file >= 0)
		return 0;
	H5Eclear2(H5E_DEFAULT);
	if (H5Fis_hdf5(h5->path) > 0)
		return pp_err_set(
		        err, -EINVAL,
		        "cannot read '%s': the file is cut short at %lld bytes or damaged. Copy it again, or record the job again",
		        h5->path, (long long)st.st_size);
	H5Eclear2(H5E_DEFAULT);
	return pp_err_set(
	        err, -EINVAL,
	        "cannot read '%s': it is damaged or not an HDF5 file. Copy it again, or give the pod.h5 that podprof wrote",
	        h5->path);
}

static int check_format(struct pp_h5_file *h5, struct pp_err *err)
{
	int64_t version = pp_h5_file_attribute_int(h5, "format_version", -1);

	if (strcmp(pp_h5_file_attribute(h5, "format"), "podprof pod dataset") || version < 0)
		return pp_err_set(err, -EINVAL,
		                  "cannot read '%s': another program wrote this HDF5 file. Give the pod.h5 that podprof wrote",
		                  h5->path);
	if (version > PP_H5_FORMAT_VERSION)
		return pp_err_set(
		        err, -EINVAL,
		        "cannot read '%s': a newer podprof (%s) wrote it, in format %lld; this one reads up to %d. Read it with "
		        "that podprof",
		        h5->path, pp_h5_file_attribute(h5, "podprof_version"), (long long)version, (int)PP_H5_FORMAT_VERSION);
	return 0;
}

static struct pp_h5_file *new_file(const char *path, struct pp_err *err)
{
	struct pp_h5_file *h5 = calloc(1, sizeof(*h5));

	if (h5)
		h5->path = strdup(path);
	if (!h5 || !h5->path) {
		free(h5);
		pp_err_set(err, -ENOMEM, "no memory to read '%s'", path);
		return NULL;
	}
	h5->file = -1;
	return h5;
}

int pp_h5_file_over(const struct pp_h5_memory *memory, const char *path, struct pp_h5_file **ret_h5, struct pp_err *err)
{
	struct pp_h5_file *h5 = new_file(path, err);

	if (!h5)
		return -ENOMEM;
	h5->memory = memory;
	*ret_h5 = h5;
	return 0;
}

int pp_h5_file_open(const char *path, struct pp_h5_file **ret_h5, struct pp_err *err)
{
	struct pp_h5_file *h5 = new_file(path, err);
	int code;

	if (!h5)
		return -ENOMEM;
	H5open();
	H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
	h5->transfer = H5Pcreate(H5P_DATASET_XFER);
	H5Pset_buffer(h5->transfer, TRANSFER_BYTES, NULL, NULL);
	code = open_file(h5, err);
	if (!code)
		code = check_format(h5, err);
	if (code) {
		pp_h5_file_close(h5);
		return code;
	}
	*ret_h5 = h5;
	return 0;
}

void pp_h5_file_close(struct pp_h5_file *h5)
{
	if (!h5)
		return;
	for (size_t i = 0; i < h5->seens; i++) {
		H5Dclose(h5->seen[i].set);
		free(h5->seen[i].path);
	}
	free(h5->seen);
	for (size_t g = 0; g < h5->groups; g++) {
		for (size_t i = 0; i < h5->group[g].names; i++)
			free(h5->group[g].name[i]);
		free(h5->group[g].name);
		free(h5->group[g].path);
	}
	free(h5->group);
	if (!h5->memory)
		H5Pclose(h5->transfer);
	if (h5->file >= 0)
		H5Fclose(h5->file);
	pp_intern_free(h5->names);
	free(h5->scale);
	free(h5->text);
	free(h5->path);
	free(h5);
}

struct pp_intern *pp_h5_file_names(struct pp_h5_file *h5)
{
	if (!h5->names)
		h5->names = pp_intern_new();
	return h5->names;
}

const struct pp_h5_memory *pp_h5_file_memory(const struct pp_h5_file *h5)
{
	return h5->memory;
}

const char *pp_h5_file_path(const struct pp_h5_file *h5)
{
	return h5->path;
}

/* A text attribute of any object; NULL where there is none, or it is no text. The caller frees it. */
static char *attribute_text(hid_t at, const char *name)
{
	hid_t a = H5Aexists(at, name) > 0 ? H5Aopen(at, name, H5P_DEFAULT) : -1, type = -1;
	char *text = NULL;

	if (a < 0)
		return NULL;
	type = H5Aget_type(a);
	if (H5Tget_class(type) == H5T_STRING && H5Tis_variable_str(type) <= 0 && H5Tget_size(type) < MOST_TEXT &&
	    H5Aget_storage_size(a) <= H5Tget_size(type)) {
		text = calloc(1, H5Tget_size(type) + 1);
		if (text && H5Aread(a, type, text) < 0)
			text[0] = '\0';
	}
	H5Tclose(type);
	H5Aclose(a);
	return text;
}

static int attribute_number(hid_t at, const char *name, hid_t type, void *value)
{
	hid_t a = H5Aexists(at, name) > 0 ? H5Aopen(at, name, H5P_DEFAULT) : -1, space;
	int code = -ENOENT;

	if (a < 0)
		return code;
	space = H5Aget_space(a);
	if (H5Sget_simple_extent_npoints(space) == 1 && H5Aread(a, type, value) >= 0)
		code = 0;
	H5Sclose(space);
	H5Aclose(a);
	return code;
}

const char *pp_h5_file_attribute(struct pp_h5_file *h5, const char *name)
{
	const char *text = h5->memory ? pp_h5_memory_get_text(h5->memory, name) : NULL;

	free(h5->text);
	h5->text = text ? strdup(text) : h5->memory ? NULL : attribute_text(h5->file, name);
	return h5->text ? h5->text : "";
}

int64_t pp_h5_file_attribute_int(struct pp_h5_file *h5, const char *name, int64_t fallback)
{
	const int64_t *known = h5->memory ? pp_h5_memory_get_int(h5->memory, name) : NULL;
	int64_t value;

	if (h5->memory)
		return known ? *known : fallback;
	return attribute_number(h5->file, name, H5T_NATIVE_INT64, &value) ? fallback : value;
}

double pp_h5_file_attribute_real(struct pp_h5_file *h5, const char *name, double fallback)
{
	const double *known = h5->memory ? pp_h5_memory_get_real(h5->memory, name) : NULL;
	double value;

	if (h5->memory)
		return known ? *known : fallback;
	return attribute_number(h5->file, name, H5T_NATIVE_DOUBLE, &value) ? fallback : value;
}

static herr_t add_name(hid_t in, const char *name, const H5L_info_t *info, void *group)
{
	struct group *g = group;
	char **more = pp_grow(g->name, g->names, &g->room, sizeof(*more));

	(void)in;
	(void)info;
	if (!more)
		return -1;
	g->name = more;
	if (strlen(name) >= PP_H5_FILE_NAME)
		return 1;
	g->name[g->names] = strdup(name);
	if (!g->name[g->names])
		return -1;
	g->names++;
	return 0;
}

/* Files of other writers may not track the order of creation: then by name. NULL: no memory. */
static const struct group *group_of(struct pp_h5_file *h5, const char *name)
{
	char path[PP_H5_FILE_NAME + 2];
	struct group *g;
	hsize_t at = 0;

	snprintf(path, sizeof(path), "/%s", name ? name : "");
	for (size_t i = 0; i < h5->groups; i++)
		if (!strcmp(h5->group[i].path, path))
			return &h5->group[i];
	if (PP_GROW(h5->group, h5->groups, h5->groups_room))
		return NULL;
	g = &h5->group[h5->groups];
	*g = (struct group){.path = strdup(path)};
	if (!g->path)
		return NULL;
	h5->groups++;
	if (H5Literate_by_name(h5->file, path, H5_INDEX_CRT_ORDER, H5_ITER_INC, &at, add_name, g, H5P_DEFAULT) < 0 && !g->names)
		H5Literate_by_name(h5->file, path, H5_INDEX_NAME, H5_ITER_INC, &at, add_name, g, H5P_DEFAULT);
	H5Eclear2(H5E_DEFAULT);
	return g;
}

const char *pp_h5_file_name(struct pp_h5_file *h5, const char *group, size_t i)
{
	const struct group *g = h5->memory ? NULL : group_of(h5, group);

	if (h5->memory)
		return pp_h5_memory_name(h5->memory, group, i);

	return g && i < g->names ? g->name[i] : NULL;
}

static int path_of(char path[2 * PP_H5_FILE_NAME + 2], const char *group, const char *variable)
{
	return snprintf(path, 2 * PP_H5_FILE_NAME + 2, "%s/%s", group, variable) >= 2 * PP_H5_FILE_NAME + 2;
}

int pp_h5_file_has(struct pp_h5_file *h5, const char *group, const char *variable)
{
	const struct group *g = h5->memory ? NULL : group_of(h5, group);

	if (h5->memory)
		return pp_h5_memory_get(h5->memory, group, variable) != NULL;

	for (size_t i = 0; g && i < g->names; i++)
		if (!strcmp(g->name[i], variable))
			return 1;
	return 0;
}

/* The name by which it was made a scale; the search for its path would look through the whole file. "": it is none. */
static void read_scale(hid_t set, struct scale *scale)
{
	hid_t d = H5Rdereference2(set, H5P_DEFAULT, H5R_OBJECT, &scale->ref);
	char path[4 * PP_H5_FILE_NAME] = "";
	const char *last;

	if (d < 0)
		return;
	if (H5DSget_scale_name(d, path, sizeof(path)) > 0 || H5Iget_name(d, path, sizeof(path)) > 0) {
		last = strrchr(path, '/');
		snprintf(scale->name, sizeof(scale->name), "%.*s", PP_H5_FILE_NAME - 1, last ? last + 1 : path);
	}
	H5Oclose(d);
}

/* Columns of a group have the same few. */
static const char *name_of_scale(struct pp_h5_file *h5, hid_t set, hobj_ref_t ref)
{
	struct scale *more;

	for (size_t i = h5->scales; i-- > 0;)
		if (h5->scale[i].ref == ref)
			return h5->scale[i].name;
	if (PP_GROW(h5->scale, h5->scales, h5->scales_room))
		return "";
	more = &h5->scale[h5->scales++];
	*more = (struct scale){.ref = ref};
	read_scale(set, more);
	return more->name;
}

/* As H5DSattach_scale() stores them: for each dimension a list of references to scales. */
static void name_dims(struct pp_h5_file *h5, hid_t set, struct pp_h5_file_column *c)
{
	hid_t list = c->dims && H5Aexists(set, "DIMENSION_LIST") > 0 ? H5Aopen(set, "DIMENSION_LIST", H5P_DEFAULT) : -1, type,
	      space;
	hvl_t scales[PP_H5_FILE_DIMS] = {{0}};

	if (list < 0)
		return;
	type = H5Tvlen_create(H5T_STD_REF_OBJ);
	space = H5Aget_space(list);
	if (H5Sget_simple_extent_npoints(space) == (hssize_t)c->dims && H5Aread(list, type, scales) >= 0) {
		for (size_t i = 0; i < c->dims; i++)
			if (scales[i].len)
				snprintf(c->dim[i], sizeof(c->dim[i]), "%s",
				         name_of_scale(h5, set, *(const hobj_ref_t *)scales[i].p));
		H5Dvlen_reclaim(type, space, H5P_DEFAULT, scales);
	}
	H5Sclose(space);
	H5Tclose(type);
	H5Aclose(list);
}

static void copy_attribute(hid_t at, const char *name, char *to, size_t size)
{
	char *text = attribute_text(at, name);

	snprintf(to, size, "%s", text ? text : "");
	free(text);
}

/* Reads all but the values. */
static const char *describe(struct pp_h5_file *h5, hid_t set, const char *variable, struct pp_h5_file_column *c)
{
	hsize_t extent[PP_H5_FILE_DIMS] = {0};
	hid_t space = H5Dget_space(set), type = H5Dget_type(set);
	int dims = H5Sget_simple_extent_ndims(space);
	const char *why = NULL;

	*c = (struct pp_h5_file_column){.n = 1};
	snprintf(c->name, sizeof(c->name), "%s", variable);
	if (dims < 0 || dims > PP_H5_FILE_DIMS || H5Sget_simple_extent_dims(space, extent, NULL) < 0)
		why = "has more dimensions than podprof writes";
	for (int i = 0; !why && i < dims; i++) {
		if (extent[i] > MOST_VALUES || c->n * (extent[i] ? extent[i] : 1) > MOST_VALUES)
			why = "has more values than memory";
		c->n *= extent[i];
		c->extent[c->dims++] = extent[i];
	}
	if (!why)
		name_dims(h5, set, c);
	if (c->dims == 1 && !c->dim[0][0]) /* a scale has none of its own */
		snprintf(c->dim[0], sizeof(c->dim[0]), "%s", variable);
	copy_attribute(set, "units", c->unit, sizeof(c->unit));
	copy_attribute(set, "long_name", c->what, sizeof(c->what));
	c->is_maybe = H5Aexists(set, "_FillValue") > 0;
	c->unknown = PP_UNKNOWN;
	if (H5Tget_class(type) == H5T_INTEGER)
		c->kind = H5Tget_sign(type) == H5T_SGN_NONE ? PP_H5_FILE_UINT : PP_H5_FILE_INT;
	else if (H5Tget_class(type) == H5T_FLOAT)
		c->kind = PP_H5_FILE_REAL;
	else if (H5Tget_class(type) == H5T_STRING && (H5Tis_variable_str(type) > 0 || H5Tget_size(type) < MOST_TEXT))
		c->kind = PP_H5_FILE_TEXT;
	else
		why = "has a type that podprof does not write";
	if (c->is_maybe && c->kind == PP_H5_FILE_INT && attribute_number(set, "_FillValue", H5T_NATIVE_INT64, &c->unknown))
		why = "has no number for what is unknown";
	c->width = c->kind == PP_H5_FILE_TEXT && H5Tis_variable_str(type) <= 0 ? H5Tget_size(type) + 1 : sizeof(int64_t);
	H5Tclose(type);
	H5Sclose(space);
	H5Eclear2(H5E_DEFAULT);
	return why;
}

/* Numbers are converted to 64 bits. */
static herr_t read_numbers(const struct pp_h5_file *h5, hid_t set, struct pp_h5_file_column *c)
{
	hid_t type = c->kind == PP_H5_FILE_INT    ? H5T_NATIVE_INT64
	             : c->kind == PP_H5_FILE_UINT ? H5T_NATIVE_UINT64
	                                          : H5T_NATIVE_DOUBLE;

	return H5Dread(set, type, H5S_ALL, H5S_ALL, h5->transfer, c->data.any);
}

/* Format 1: texts of one length, padded. */
static herr_t read_fixed(hid_t set, hid_t type, struct pp_h5_file_column *c)
{
	char *block = calloc(c->n + 1, c->width);
	herr_t got = -1;

	H5Tset_size(type, c->width);
	if (block && H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, block) >= 0)
		got = 0;
	for (size_t i = 0; !got && i < c->n; i++) {
		c->data.text[i] = strdup(block + i * c->width);
		if (!c->data.text[i])
			got = -1;
	}
	free(block);
	return got;
}

/* A damaged file may have any length: `left` is the column's limit. */
static void *take_text(size_t size, void *left)
{
	size_t *bytes = left;

	if (size > *bytes)
		return NULL;
	*bytes -= size;
	return malloc(size);
}

static void free_text(void *text, void *left)
{
	(void)left;
	free(text);
}

static herr_t read_variable(struct pp_h5_file *h5, hid_t set, hid_t type, size_t left, struct pp_h5_file_column *c)
{
	H5Tset_size(type, H5T_VARIABLE);
	H5Pset_vlen_mem_manager(h5->transfer, take_text, &left, free_text, &left);
	return H5Dread(set, type, H5S_ALL, H5S_ALL, h5->transfer, c->data.text);
}

/* HDF5 converts no character sets: text is read in the file's, ASCII or UTF-8. */
static herr_t read_texts(struct pp_h5_file *h5, hid_t set, struct pp_h5_file_column *c)
{
	hid_t in_file = H5Dget_type(set), type = H5Tcopy(H5T_C_S1);
	herr_t got;

	H5Tset_cset(type, H5Tget_cset(in_file));
	got = H5Tis_variable_str(in_file) > 0 ? read_variable(h5, set, type, h5->bytes + c->n, c) : read_fixed(set, type, c);
	H5Tclose(type);
	H5Tclose(in_file);
	return got;
}

/* A damaged extent must not exhaust the machine's memory. */
static int can_hold(const struct pp_h5_file *h5, const struct pp_h5_file_column *c)
{
	return c->n * c->width / DEFLATE_MOST <= h5->bytes;
}

/* NULL: it cannot be opened, or no memory. Columns are asked for in the same order each time. */
static struct seen *see(struct pp_h5_file *h5, const char *group, const char *variable)
{
	char path[2 * PP_H5_FILE_NAME + 2];
	struct seen *s;

	if (path_of(path, group, variable))
		return NULL;
	for (size_t i = 0; i < h5->seens; i++) {
		s = &h5->seen[(h5->next + i) % h5->seens];
		if (!strcmp(s->path, path)) {
			h5->next = (size_t)(s - h5->seen) + 1;
			return s;
		}
	}
	if (PP_GROW(h5->seen, h5->seens, h5->seens_room))
		return NULL;
	s = &h5->seen[h5->seens];
	*s = (struct seen){.path = strdup(path), .set = H5Dopen2(h5->file, path, H5P_DEFAULT)};
	if (!s->path || s->set < 0) {
		free(s->path);
		if (s->set >= 0)
			H5Dclose(s->set);
		return NULL;
	}
	h5->seens++;
	s->why = describe(h5, s->set, variable, &s->column);
	if (!s->why && !can_hold(h5, &s->column))
		s->why = "has more values than the file can hold";
	return s;
}

static int read_column(struct pp_h5_file *h5, const char *group, const char *variable, int values, struct pp_h5_file_column *ret,
                       struct pp_err *err)
{
	const struct seen *s = see(h5, group, variable);
	struct pp_h5_file_column c;
	int code = 0;

	H5Eclear2(H5E_DEFAULT);
	if (!s)
		return damaged(h5, group, variable, "cannot be opened", err);
	if (s->why)
		return damaged(h5, group, variable, s->why, err);
	c = s->column;
	if (values) {
		c.data.any = pp_huge_calloc(c.n + 1, sizeof(int64_t));
		if (!c.data.any)
			code = pp_err_set(err, -ENOMEM, "no memory for /%s/%s of '%s'", group, variable, h5->path);
		else if (c.n && (c.kind == PP_H5_FILE_TEXT ? read_texts(h5, s->set, &c) : read_numbers(h5, s->set, &c)) < 0)
			code = damaged(h5, group, variable, "cannot be read", err);
	}
	H5Eclear2(H5E_DEFAULT);
	if (code)
		pp_h5_file_release(&c);
	else
		*ret = c;
	return code;
}

static int copy_texts(struct pp_h5_file_column *to, const struct pp_h5_file_column *from)
{
	for (size_t i = 0; i < from->n; i++) {
		to->data.text[i] = strdup(from->data.text[i]);
		if (!to->data.text[i])
			return -ENOMEM;
	}
	return 0;
}

/* Values of a column in memory. */
static int make_or_copy(const struct pp_h5_memory_column *from, struct pp_h5_file_column *c)
{
	if (from->make)
		return from->make(from->context, c);
	c->data.any = calloc(c->n + 1, sizeof(int64_t));
	if (c->data.any && c->kind != PP_H5_FILE_TEXT)
		memcpy(c->data.any, from->column.data.any, c->n * sizeof(int64_t));
	return !c->data.any ? -ENOMEM : c->kind == PP_H5_FILE_TEXT ? copy_texts(c, &from->column) : 0;
}

static int copy_column(struct pp_h5_file *h5, const char *group, const char *variable, int values, struct pp_h5_file_column *ret,
                       struct pp_err *err)
{
	const struct pp_h5_memory_column *from = pp_h5_memory_get(h5->memory, group, variable);
	struct pp_h5_file_column c;

	if (!from)
		return damaged(h5, group, variable, "cannot be opened", err);
	c = from->column;
	c.data.any = NULL;
	if (values && make_or_copy(from, &c)) {
		pp_h5_file_release(&c);
		return pp_err_set(err, -ENOMEM, "no memory for /%s/%s of '%s'", group, variable, h5->path);
	}
	*ret = c;
	return 0;
}

int pp_h5_file_shape(struct pp_h5_file *h5, const char *group, const char *variable, struct pp_h5_file_column *ret,
                     struct pp_err *err)
{
	return (h5->memory ? copy_column : read_column)(h5, group, variable, 0, ret, err);
}

int pp_h5_file_read(struct pp_h5_file *h5, const char *group, const char *variable, struct pp_h5_file_column *ret,
                    struct pp_err *err)
{
	return (h5->memory ? copy_column : read_column)(h5, group, variable, 1, ret, err);
}
