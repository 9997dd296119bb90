/* Reads a table of pod.h5 by its description; see table_read.h. Called by `podprof report --table`. */
#include "aggregate/read/h5/table_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBERS_MOST = 4095 /* of a NAMED of more than a byte */ };

static int damaged(const struct pp_h5_file *h5, const char *group, const char *column, const char *why, struct pp_err *err)
{
	return pp_err_set(err, -EINVAL, "cannot read '%s': /%s/%s %s. The file is damaged: copy it again, or record the job again",
	                  pp_h5_file_path(h5), group, column, why);
}

/* The least number of this text, where several have none: 0 is unknown; -1: none. */
static int64_t number_of(const struct pp_column *c, const char *text)
{
	const int most = c->size == 1 ? INT8_MAX : NUMBERS_MOST;
	int number = 0;

	while (number <= most && strcmp(c->word(number), text) != 0)
		number++;
	return number <= most ? number : -1;
}

/* Format 2 had -1 for what is not known. */
static void mark_unknown(struct pp_h5_file_column *from, const struct pp_column *c)
{
	for (size_t i = 0; c->is_maybe && !from->is_maybe && i < from->n; i++)
		if (from->kind == PP_H5_FILE_REAL ? from->data.real[i] == -1 : from->data.i[i] == -1)
			from->data.i[i] = pp_column_unknown(c);
}

/* Values as bits for pp_column_store(), which take the place of `from`'s; NULL: no memory. The caller frees them. */
static int64_t *bits_of(struct pp_h5_file_column *from, const struct pp_column *c, struct pp_intern *names)
{
	int64_t *bits = from->data.i;

	if (from->kind != PP_H5_FILE_TEXT) {
		mark_unknown(from, c);
		from->data.i = NULL;
		return bits;
	}
	bits = calloc(from->n + 1, sizeof(*bits));
	for (size_t i = 0; bits && i < from->n; i++) {
		const char *text = pp_h5_file_text(from, i);

		if (c->word && i && !strcmp(text, pp_h5_file_text(from, i - 1)))
			bits[i] = bits[i - 1];
		else if (c->word)
			bits[i] = number_of(c, text);
		else
			bits[i] = *text ? (int64_t)pp_intern_put(names, text, strlen(text)) : 0;
	}
	return bits;
}

static int fits(const struct pp_column *c, const struct pp_h5_file_column *from)
{
	if (c->word || c->type == PP_TYPE_TEXT || c->type == PP_TYPE_CHARS)
		return from->kind == PP_H5_FILE_TEXT;
	if (c->type == PP_TYPE_F64)
		return from->kind == PP_H5_FILE_REAL;
	return from->kind == PP_H5_FILE_INT || from->kind == PP_H5_FILE_UINT;
}

/* Rows of one value each, as most tables have them. */
static int take_values(struct pp_table *t, const struct pp_column *c, const int64_t *bits, int other_sign)
{
	int bad = 0;

	for (size_t first = 0, n; first < t->rows; first += n) {
		n = t->rows - first < PP_TABLE_BATCH ? t->rows - first : PP_TABLE_BATCH;
		for (size_t i = 0; other_sign && i < n; i++)
			bad |= bits[first + i] < 0;
		bad |= pp_column_store(c, t, first, n, 0, bits + first);
		if (c->type != PP_TYPE_TIME && c->type != PP_TYPE_NS) /* a host's date may be wrong by decades */
			bad |= !pp_column_is_good(c, n, bits + first);
	}
	return bad;
}

/* Value k of row r is the row's k-th, or its group's. `values`: how many per row the file has, where the array has grown. */
static int take_column(struct pp_table *t, const struct pp_column *c, struct pp_h5_file_column *from, size_t values,
                       const int64_t *group, struct pp_intern *names)
{
	const int is_unsigned = c->type == PP_TYPE_U16 || c->type == PP_TYPE_U32 || c->type == PP_TYPE_U64;
	const int other_sign = from->kind == (is_unsigned ? PP_H5_FILE_INT : PP_H5_FILE_UINT); /* a large one is another value */
	int64_t *bits, value[PP_TABLE_BATCH];
	int bad = 0;

	for (size_t i = 0; c->type == PP_TYPE_CHARS && i < t->rows; i++)
		snprintf(pp_column_at(c, t, i), c->count, "%s", pp_h5_file_text(from, i));
	if (c->type == PP_TYPE_CHARS)
		return 0;
	bits = bits_of(from, c, names);
	if (bits && c->count == 1 && values == 1 && !c->is_scalar && !group && from->n >= t->rows) {
		bad = take_values(t, c, bits, other_sign);
		goto free_bits;
	}
	for (size_t k = 0; bits && k < c->count && k < values; k++) {
		for (size_t first = 0, n; first < t->rows; first += n) {
			n = t->rows - first < PP_TABLE_BATCH ? t->rows - first : PP_TABLE_BATCH;
			for (size_t i = 0; i < n; i++) {
				const size_t row = first + i,
				             at = c->is_scalar ? 0 : (group ? (size_t)group[row] : row) * values + k;

				bad |= at >= from->n;
				value[i] = at < from->n ? bits[at] : 0;
				bad |= other_sign && value[i] < 0;
			}
			bad |= pp_column_store(c, t, first, n, k, value);
			if (c->type != PP_TYPE_TIME && c->type != PP_TYPE_NS) /* a host's date may be wrong by decades */
				bad |= !pp_column_is_good(c, n, value);
		}
	}
free_bits:
	free(bits);
	return !bits ? -ENOMEM : bad ? -EINVAL : 0;
}

static int make_rows(struct pp_table *t, size_t rows)
{
	int rc = pp_table_room(t, rows);

	for (size_t i = 0; rc == 0 && i < rows; i++)
		pp_row_clear(t->desc, (char *)t->row + i * t->desc->row_size);
	t->rows = rc ? 0 : rows;
	return rc;
}

/* The first existing column gives the number of rows. Numbers of groups go to *ret_group. */
static int read_column(struct pp_h5_file *h5, struct pp_table *t, const struct pp_column *c, const int64_t *group,
                       struct pp_intern *names, int64_t **ret_group, struct pp_err *err)
{
	const size_t dims = (t->desc->dim[0] && !c->is_scalar) + (size_t)pp_table_is_grid(t->desc) + (c->dim[0] != 0);
	struct pp_h5_file_column from;
	size_t values;
	const char *in = pp_column_group(t->desc, c);
	int rc = pp_h5_file_read(h5, in, c->name, &from, err);

	if (rc)
		return rc;
	values = !c->count ? 1 : c->dim[0] && c->may_grow && from.dims == dims ? from.extent[dims - 1] : pp_column_values(c);
	if (!values)
		rc = -EINVAL;
	if (!rc && !t->row)
		rc = make_rows(t, from.n / values);
	if (!rc && (!fits(c, &from) || (!group && from.n != (c->is_scalar ? 1 : t->rows * values)) || from.dims != dims))
		rc = -EINVAL;
	if (!rc && ret_group) {
		*ret_group = from.data.i; /* the caller's now */
		from.data.i = NULL;
	} else if (!rc) {
		rc = take_column(t, c, &from, values, group, names);
	}
	pp_h5_file_release(&from);
	if (rc == -ENOMEM)
		return pp_err_set(err, rc, "no memory for /%s of '%s'", t->desc->group, pp_h5_file_path(h5));
	return rc ? damaged(h5, in, c->name, "does not fit the other columns", err) : 0;
}

/* A grid: a row with keys for each cell, where the first of its columns has as many values. */
static int make_cells(struct pp_h5_file *h5, struct pp_table *t, struct pp_err *err)
{
	const struct pp_column *key = t->desc->column;
	struct pp_h5_file_column axis[2] = {{.n = 0}}, cells = {.n = 0};
	int rc = 0;

	for (size_t i = t->desc->keys; i < t->desc->columns && !cells.n && !rc; i++)
		if (pp_h5_file_has(h5, t->desc->group, key[i].name)) {
			rc = pp_h5_file_shape(h5, t->desc->group, key[i].name, &cells, err);
			cells.n /= key[i].count;
		}
	if (!cells.n)
		return rc;
	for (int k = 0; k < 2 && !rc; k++) {
		rc = pp_h5_file_read(h5, t->desc->group, key[k].name, &axis[k], err);
		if (!rc && !fits(&key[k], &axis[k]))
			rc = damaged(h5, t->desc->group, key[k].name, "is not a number", err);
	}
	if (!rc && axis[0].n * axis[1].n != cells.n)
		rc = damaged(h5, t->desc->group, key[1].name, "does not fit the other columns", err);
	if (!rc && pp_table_room(t, cells.n))
		rc = pp_err_set(err, -ENOMEM, "no memory for /%s of '%s'", t->desc->group, pp_h5_file_path(h5));
	for (; !rc && t->rows < cells.n; t->rows++) {
		pp_row_clear(t->desc, (char *)t->row + t->rows * t->desc->row_size);
		if (pp_column_store(&key[0], t, t->rows, 1, 0, &axis[0].data.i[t->rows / axis[1].n]) ||
		    pp_column_store(&key[1], t, t->rows, 1, 0, &axis[1].data.i[t->rows % axis[1].n]))
			rc = damaged(h5, t->desc->group, key[1].name, "has an impossible value", err);
	}
	pp_h5_file_release(&axis[0]);
	pp_h5_file_release(&axis[1]);
	return rc;
}

/* In files of earlier versions a cell without a row has 0 where it is unknown now. */
static int has_zeros(struct pp_h5_file *h5, const struct pp_table_desc *d)
{
	for (size_t i = 0; i < d->columns; i++) {
		struct pp_h5_file_column c = {.n = 0};

		if (d->column[i].is_maybe && pp_h5_file_has(h5, d->group, d->column[i].name) &&
		    !pp_h5_file_shape(h5, d->group, d->column[i].name, &c, NULL) && !c.is_maybe)
			return 1;
	}
	return 0;
}

/* Drops cells that have nothing; with_zeros: also those in which all is 0. */
static void drop_empty(struct pp_table *t, int with_zeros)
{
	const size_t size = t->desc->row_size, keys = t->desc->column[t->desc->keys].offset;
	char *row = t->row, *nothing = row + t->rows * size; /* pp_table_room() has one more */
	size_t remaining = 0;

	pp_row_clear(t->desc, nothing);
	for (size_t i = 0; i < t->rows; i++) {
		size_t at = keys;

		while (at < size && ((with_zeros && !row[i * size + at]) || row[i * size + at] == nothing[at]))
			at++;
		if (at < size)
			memmove(row + remaining++ * size, row + i * size, size);
	}
	t->rows = remaining;
}

/* Group of each row; *ret_group stays NULL where the file has none. */
static int read_groups(struct pp_h5_file *h5, struct pp_table *t, int64_t **ret_group, struct pp_err *err)
{
	for (size_t i = t->desc->once; i && i < t->desc->columns; i++) {
		const struct pp_column *c = &t->desc->column[i];

		if (c->rule == PP_RULE_GROUP && pp_h5_file_has(h5, t->desc->group, c->name))
			return read_column(h5, t, c, NULL, NULL, ret_group, err);
	}
	return 0;
}

/* A coordinate of a dense grid, which all of its groups have. */
static int read_axis(struct pp_h5_file *h5, struct pp_table *t, int k, size_t *ret_n, struct pp_err *err)
{
	static const char *const name[] = {"step", "worker"};
	struct pp_h5_file_column axis;
	const char *group, *absent;
	int rc = 0;

	for (size_t i = 0; (group = pp_table_group(t->desc, i, &absent)) && !rc; i++) {
		if (!pp_h5_file_has(h5, group, name[k]))
			continue;
		rc = pp_h5_file_read(h5, group, name[k], &axis, err);
		if (rc)
			break;
		if ((axis.kind != PP_H5_FILE_INT && axis.kind != PP_H5_FILE_UINT) || (t->axis[k] && axis.n != *ret_n)) {
			rc = damaged(h5, group, name[k], "does not fit the other columns", err);
		} else {
			free(t->axis[k]);
			t->axis[k] = axis.data.i;
			axis.data.i = NULL;
			*ret_n = axis.n;
		}
		pp_h5_file_release(&axis);
	}
	return rc;
}

static int read_axes(struct pp_h5_file *h5, struct pp_table *t, struct pp_err *err)
{
	size_t steps = 0;
	int rc = read_axis(h5, t, 0, &steps, err);

	if (!rc)
		rc = read_axis(h5, t, 1, &t->workers, err);
	if (!rc && steps * t->workers != t->rows)
		rc = damaged(h5, t->desc->group, "worker", "does not fit the other columns", err);
	return rc;
}

static int read_columns(struct pp_h5_file *h5, struct pp_table *t, size_t first, const int64_t *group, struct pp_intern *names,
                        uint64_t *ret_missing, struct pp_err *err)
{
	const struct pp_table_desc *desc = t->desc;
	int rc = 0;

	*ret_missing = 0;
	for (size_t i = first; i < desc->columns && !rc; i++) {
		const struct pp_column *c = &desc->column[i];
		const char *in = pp_column_group(desc, c);

		if (!c->count || c->rule == PP_RULE_PART || c->is_alias || !in[0])
			continue;
		if (pp_h5_file_has(h5, in, c->name) && (group || i >= desc->once))
			rc = read_column(h5, t, c, i < desc->once ? group : NULL, names, NULL, err);
		else
			*ret_missing |= (uint64_t)1 << i;
	}
	return rc;
}

int pp_h5_file_record(struct pp_h5_file *h5, struct pp_table *record, struct pp_err *err)
{
	uint64_t missing;

	return read_columns(h5, record, 0, NULL, pp_h5_file_names(h5), &missing, err);
}

int pp_h5_file_table(struct pp_h5_file *h5, const struct pp_table_desc *desc, struct pp_intern *names, struct pp_table *ret_table,
                     uint64_t *ret_missing, struct pp_err *err)
{
	struct pp_table t = {.desc = desc};
	const char *wrong;
	uint64_t missing = 0;
	const int is_grid = pp_table_is_grid(desc) && desc->keys && pp_h5_file_has(h5, desc->group, desc->column[0].name) &&
	                    pp_h5_file_has(h5, desc->group, desc->column[1].name);
	int64_t *group = NULL;
	int rc = is_grid ? make_cells(h5, &t, err) : read_groups(h5, &t, &group, err);

	if (!rc)
		rc = read_columns(h5, &t, is_grid ? desc->keys : 0, group, names, &missing, err);
	free(group);
	if (!rc && is_grid)
		drop_empty(&t, has_zeros(h5, desc));
	if (!rc && pp_table_is_grid(desc) && !desc->keys)
		rc = read_axes(h5, &t, err);
	if (!rc && (wrong = pp_table_fault(&t)))
		rc = damaged(h5, desc->group, "", wrong, err);
	if (rc) {
		pp_table_release(&t);
		return rc;
	}
	*ret_table = t;
	*ret_missing = missing;
	return 0;
}
