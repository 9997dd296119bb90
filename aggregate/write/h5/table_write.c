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
	snprintf(dims, PP_H5_TABLE_DIMS, "%s%s%s", d->dim, c->dim[0] ? " " : "", c->dim);
	*ret_row = (struct pp_h5_row){d->group, c->name, dims, type[c->type], c->unit, c->what, c->words[0] ? c->words : NULL};
	return 1;
}

struct texts {
	const uint32_t *id;
	const struct pp_intern *names;
};

static const char *text_of(const void *context, size_t i)
{
	const struct texts *t = context;

	return pp_intern_text(t->names, t->id[i], NULL);
}

/* Values of a column, one row after the other; of an index 0 1 2 .. NULL: no memory. To be freed. */
static void *values_of(const struct pp_table *t, const struct pp_column *c)
{
	const size_t bytes = (size_t)c->size * c->count, stride = t->desc->row_size;
	const char *from = (const char *)t->row + c->offset;
	char *data = malloc(t->rows * (bytes ? bytes : sizeof(int64_t)));

	for (size_t i = 0; data && i < t->rows; i++, from += stride) {
		int64_t index = (int64_t)i;

		if (c->rule == PP_RULE_INDEX)
			memcpy(data + i * sizeof(index), &index, sizeof(index));
		else if (bytes == sizeof(int64_t)) /* of a known size: a load and a store */
			memcpy(data + i * sizeof(int64_t), from, sizeof(int64_t));
		else
			memcpy(data + i * bytes, from, bytes);
	}
	return data;
}

static void put_table(struct pp_h5 *h, const struct pp_table *t, const struct pp_intern *names)
{
	const struct pp_table_desc *d = t->desc;
	char dims[PP_H5_TABLE_DIMS];

	pp_h5_dim(h, d->dim, t->rows);
	for (size_t i = 0; i < d->columns; i++) {
		const struct pp_column *c = &d->column[i];
		struct pp_h5_row row;
		void *data;

		if (!pp_h5_table_row(d, c, dims, &row))
			continue;
		if (c->dim[0])
			pp_h5_dim(h, c->dim, c->count);
		data = values_of(t, c);
		if (!data && !h->code)
			h->code = pp_err_set(h->err, -ENOMEM, "no memory for column '%s'", c->name);
		else if (c->type == PP_TYPE_TEXT)
			pp_h5_put_row_texts(h, &row, t->rows, text_of, &(struct texts){data, names});
		else
			pp_h5_put_row(h, &row, data);
		free(data);
	}
}

void pp_h5_put_tables(struct pp_h5 *h, const struct pp_table *table, size_t tables, const struct pp_intern *names)
{
	for (size_t i = 0; i < tables; i++)
		if (table[i].rows && !strcmp(table[i].desc->group, h->group_name))
			put_table(h, &table[i], names);
}

void pp_h5_write_groups(struct pp_h5 *h, const struct pp_table *table, size_t tables, const struct pp_intern *names)
{
	for (size_t i = 0; i < tables && !h->code; i++) {
		const char *group = table[i].desc->group;

		if (!group[0] || !pp_tables_have(table, tables, group) || H5Lexists(h->file, group, H5P_DEFAULT) > 0)
			continue;
		pp_h5_group_begin(h, group);
		pp_h5_put_tables(h, table, tables, names);
		pp_h5_group_end(h);
	}
}
