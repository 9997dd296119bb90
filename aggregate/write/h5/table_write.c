/* Any table of the dataset as a group of pod.h5, by its description; see table_write.h. Called by hdf5_tables.c. */
#include "aggregate/write/h5/table_write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int pp_h5_table_row(const struct pp_table_desc *d, const struct pp_column *c, char dims[PP_H5_TABLE_DIMS],
                    struct pp_h5_row *ret_row)
{
	static const enum pp_h5_type type[] = {
#define PP_TYPE(name, c_type, sum_type, h5) PP_H5_##h5,
#include "aggregate/dataset/table/type.def"
	};

	if (!d->group[0] || c->rule == PP_RULE_PART)
		return 0;
	snprintf(dims, PP_H5_TABLE_DIMS, "%s%s%s",
	         c->is_scalar                                    ? ""
	         : pp_table_is_grid(d) && c->rule == PP_RULE_KEY ? c->name
	                                                         : d->dim,
	         c->dim[0] ? " " : "", c->dim);
	*ret_row = (struct pp_h5_row){d->group, c->name, dims, type[c->type], c->unit, c->what, c->words[0] ? c->words : NULL};
	return 1;
}

struct texts {
	const struct pp_table *table;
	const struct pp_column *column;
	const struct pp_intern *names;
};

static const char *text_of(const void *context, size_t i)
{
	const struct texts *t = context;
	const void *value = pp_column_at(t->column, t->table, i);

	return t->column->type == PP_TYPE_CHARS ? value : pp_intern_text(t->names, *(const uint32_t *)value, NULL);
}

/* Values of a column for n rows or cells, row i in place[i]; NULL: one after the other. Of an index 0 1 2 .. NULL: no memory. To be
 * freed. */
static void *values_of(const struct pp_table *t, const struct pp_column *c, const size_t *place, size_t n)
{
	const size_t bytes = (size_t)c->size * c->count, stride = t->desc->row_size;
	const char *from = (const char *)t->row + c->offset;
	char *data = place ? calloc(n, bytes) : malloc(n * (bytes ? bytes : sizeof(int64_t)));

	for (size_t i = 0; data && i < t->rows; i++, from += stride) {
		size_t to = place ? place[i] : i;
		int64_t index = (int64_t)i;

		if (to == SIZE_MAX)
			continue;
		if (c->rule == PP_RULE_INDEX)
			memcpy(data + to * sizeof(index), &index, sizeof(index));
		else if (bytes == sizeof(int64_t)) /* of a known size: a load and a store */
			memcpy(data + to * sizeof(int64_t), from, sizeof(int64_t));
		else
			memcpy(data + to * bytes, from, bytes);
	}
	return data;
}

static void put_columns(struct pp_h5 *h, const struct pp_table *t, const size_t *place, size_t n, const struct pp_intern *names)
{
	const struct pp_table_desc *d = t->desc;
	char dims[PP_H5_TABLE_DIMS];

	for (size_t i = place ? d->keys : 0; i < d->columns; i++) {
		const struct pp_column *c = &d->column[i];
		struct pp_h5_row row;
		void *data;

		if (!pp_h5_table_row(d, c, dims, &row))
			continue;
		if (c->dim[0])
			pp_h5_dim(h, c->dim, c->count);
		if (row.type == PP_H5_STR && !place) { /* a grid has no texts */
			pp_h5_put_row_texts(h, &row, n, text_of, &(struct texts){t, c, names});
			continue;
		}
		data = values_of(t, c, place, n);
		if (!data && !h->code)
			h->code = pp_err_set(h->err, -ENOMEM, "no memory for column '%s'", c->name);
		else
			pp_h5_put_row(h, &row, data);
		free(data);
	}
}

/* The cell of each row, SIZE_MAX: of no step or worker of the dataset. Both are in order. */
static void find_cells(const struct pp_table *t, const struct pp_dataset *d, size_t *place)
{
	for (size_t i = 0, s = 0; i < t->rows; i++) {
		int64_t step, rank;
		size_t w;

		pp_column_load(&t->desc->column[0], t, i, 1, 0, &step);
		pp_column_load(&t->desc->column[1], t, i, 1, 0, &rank);
		w = pp_dataset_worker(d, (int32_t)rank);
		while (s < d->steps && d->step_number[s] < step)
			s++;
		place[i] = w != SIZE_MAX && s < d->steps && d->step_number[s] == step ? s * d->workers + w : SIZE_MAX;
	}
}

static void put_grid(struct pp_h5 *h, const struct pp_table *t, const struct pp_dataset *d)
{
	size_t *place = calloc(t->rows + 1, sizeof(*place));
	int32_t *rank = malloc((d->workers + 1) * sizeof(*rank));
	char dims[PP_H5_TABLE_DIMS];
	struct pp_h5_row row;

	if (h->code || !d->steps || !d->workers)
		goto free_all;
	if (!place || !rank) {
		h->code = pp_err_set(h->err, -ENOMEM, "no memory for the cells of '%s'", t->desc->name);
		goto free_all;
	}
	for (size_t w = 0; w < d->workers; w++)
		rank[w] = d->worker[w].rank;
	find_cells(t, d, place);
	pp_h5_dim(h, t->desc->column[0].name, d->steps);
	pp_h5_dim(h, t->desc->column[1].name, d->workers);
	(void)pp_h5_table_row(t->desc, &t->desc->column[0], dims, &row);
	pp_h5_put_row(h, &row, d->step_number);
	(void)pp_h5_table_row(t->desc, &t->desc->column[1], dims, &row);
	pp_h5_put_row(h, &row, rank);
	put_columns(h, t, place, d->steps * d->workers, d->names);
free_all:
	free(rank);
	free(place);
}

void pp_h5_put_tables(struct pp_h5 *h, const struct pp_table *table, size_t tables, const struct pp_dataset *d)
{
	for (size_t i = 0; i < tables; i++) {
		if (strcmp(table[i].desc->group, h->group_name) != 0)
			continue;
		if (pp_table_is_grid(table[i].desc)) {
			put_grid(h, &table[i], d);
		} else if (table[i].rows) {
			pp_h5_dim(h, table[i].desc->dim, table[i].rows);
			put_columns(h, &table[i], NULL, table[i].rows, d->names);
		}
	}
}

void pp_h5_write_groups(struct pp_h5 *h, const struct pp_table *table, size_t tables, const struct pp_dataset *d)
{
	for (size_t i = 0; i < tables && !h->code; i++) {
		const char *group = table[i].desc->group;

		if (!group[0] || !pp_tables_have(table, tables, group) || H5Lexists(h->file, group, H5P_DEFAULT) > 0)
			continue;
		pp_h5_group_begin(h, group);
		pp_h5_put_tables(h, table, tables, d);
		pp_h5_group_end(h);
	}
}
