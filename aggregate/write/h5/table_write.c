/* Any table of the dataset as a group of pod.h5, by its description; see table_write.h. Called by hdf5.c. */
#include "aggregate/write/h5/table_write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { CACHED_BYTES = 512 << 10 /* of rows that are written at a time */ };

/* Is the column written once a group? */
static int is_once(const struct pp_table_desc *d, const struct pp_column *c)
{
	return (size_t)(c - d->column) < d->once;
}

int pp_h5_table_row(const struct pp_table_desc *d, const struct pp_column *c, char dims[PP_H5_TABLE_DIMS],
                    struct pp_h5_row *ret_row)
{
	static const enum pp_h5_type type[] = {
#define PP_TYPE(name, c_type, sum_type, h5) PP_H5_##h5,
#include "aggregate/dataset/table/type.def"
	};
	const char *dim = d->dim, *group = pp_column_group(d, c);

	if (!group[0] || c->rule == PP_RULE_PART || c->rule == PP_RULE_IN)
		return 0;
	if (c->is_scalar)
		dim = "";
	else if (is_once(d, c))
		dim = d->column[0].name;
	else if (c->label || c->is_axis || (pp_table_is_grid(d) && c->rule == PP_RULE_KEY))
		dim = c->name;
	snprintf(dims, PP_H5_TABLE_DIMS, "%s%s%s", dim, c->dim[0] ? " " : "", c->dim);
	*ret_row = (struct pp_h5_row){.group = group,
	                              .variable = c->name,
	                              .dims = dims,
	                              .type = c->text || c->word ? PP_H5_STR : type[c->type],
	                              .unit = c->unit,
	                              .what = c->what,
	                              .is_maybe = c->is_maybe,
	                              .unknown = pp_column_unknown(c),
	                              .words = c->words[0] ? c->words : NULL};
	return 1;
}

struct places {         /* what stands at 0 1 2 .. of a column in the file */
	size_t *row;    /* SIZE_MAX: of no row; NULL: row 0 1 2 .. */
	int64_t *group; /* [rows] of tables that are written once a group */
	size_t n;
};

/* The first row of each group. Rows are in the order of their keys: those of one group stand together. */
static int find_groups(const struct pp_table *t, struct places *p)
{
	const struct pp_table_desc *d = t->desc;
	const char *row = t->row;

	p->row = malloc((t->rows + 1) * sizeof(*p->row));
	p->group = malloc((t->rows + 1) * sizeof(*p->group));
	if (!p->row || !p->group)
		return -ENOMEM;
	for (size_t r = 0; r < t->rows; r++, row += d->row_size) {
		int is_new = !r;

		for (size_t i = 0; i < d->once && !is_new; i++)
			is_new = memcmp(row + d->column[i].offset, row - d->row_size + d->column[i].offset, d->column[i].size) != 0;
		if (is_new)
			p->row[p->n++] = r;
		p->group[r] = (int64_t)p->n - 1;
	}
	return 0;
}

/* The row of each cell of the dataset. Rows of no step or worker of it have none. */
static int find_cells(const struct pp_table *t, const struct pp_dataset *d, struct places *p)
{
	p->row = malloc((p->n + 1) * sizeof(*p->row));
	if (!p->row)
		return -ENOMEM;
	memset(p->row, 0xff, p->n * sizeof(*p->row));
	for (size_t i = 0, s = 0; i < t->rows; i++) {
		int64_t step, rank;
		size_t w;

		pp_column_load(&t->desc->column[0], t, i, 1, 0, &step);
		pp_column_load(&t->desc->column[1], t, i, 1, 0, &rank);
		w = pp_dataset_worker(d, (int32_t)rank);
		while (s < d->steps && d->step[s].number < step)
			s++;
		if (w != SIZE_MAX && s < d->steps && d->step[s].number == step)
			p->row[s * d->workers + w] = i;
	}
	return 0;
}

struct column { /* of a table, as the file has it */
	const struct pp_table *table;
	const struct pp_column *column;
	const struct places *place;
	size_t per; /* places of a row of its first dimension */
	const struct pp_intern *names;
	char *word; /* [PP_TABLE_WORD + 1] of the text that was asked for last */
};

static const char *text_of(const void *context, size_t i)
{
	const struct column *t = context;
	const size_t at = t->place->row ? t->place->row[i] : i;
	const char *row = (const char *)t->table->row + at * t->table->desc->row_size, *text;
	int64_t number;
	size_t length;

	if (t->column->label)
		return t->column->word((int)i);
	if (at == SIZE_MAX)
		return "";
	if (t->column->type == PP_TYPE_CHARS)
		return pp_column_at(t->column, t->table, at);
	if (t->column->count) {
		pp_column_load(t->column, t->table, at, 1, 0, &number);
		return t->column->word ? t->column->word((int)number) : pp_intern_text(t->names, (uint32_t)number, NULL);
	}
	text = t->column->text(row, t->names, &length);
	snprintf(t->word, PP_TABLE_WORD + 1, "%.*s", (int)length, text);
	return t->word;
}

static void put_values(const void *context, size_t first, size_t n, void *to)
{
	const struct column *k = context;
	const struct pp_column *c = k->column;
	const size_t bytes = (size_t)c->size * c->count, stride = k->table->desc->row_size, from_place = first * k->per;
	const char *from = (const char *)k->table->row + c->offset;
	char *data = to;

	for (size_t i = 0; i < n * k->per && from_place + i < k->place->n; i++) {
		const size_t row = k->place->row ? k->place->row[from_place + i] : from_place + i;
		int64_t index = (int64_t)(from_place + i);

		if (c->rule == PP_RULE_INDEX)
			memcpy(data + i * sizeof(index), &index, sizeof(index));
		else if (row == SIZE_MAX)
			pp_column_clear(c, data + i * bytes);
		else if (bytes == sizeof(int64_t)) /* of a known size: a load and a store */
			memcpy(data + i * sizeof(int64_t), from + row * stride, sizeof(int64_t));
		else if (bytes == sizeof(int32_t))
			memcpy(data + i * sizeof(int32_t), from + row * stride, sizeof(int32_t));
		else
			memcpy(data + i * bytes, from + row * stride, bytes);
	}
}

/* All that a table's columns need while they are written, or in memory as long as that has them. */
struct held {
	struct places places, rows; /* of groups or cells, and of rows */
	char word[PP_TABLE_WORD + 1];
	struct column column[];
};

/* per: places of a row of the column's first dimension. */
static void put_column(struct pp_h5 *h, const struct pp_table *t, size_t i, struct held *held, const struct places *p, size_t per,
                       const struct pp_intern *names)
{
	const struct pp_column *c = &t->desc->column[i];
	char dims[PP_H5_TABLE_DIMS];
	struct pp_h5_row row;

	if (!pp_h5_table_row(t->desc, c, dims, &row))
		return;
	if (strcmp(row.group, h->group_name) != 0)
		return;
	if (c->dim[0])
		pp_h5_dim(h, c->dim, c->count);
	if (c->label)
		pp_h5_dim(h, c->name, c->label);
	held->column[i] = (struct column){t, c, p, c->is_scalar ? 1 : per, names, held->word};
	if (row.type == PP_H5_STR)
		pp_h5_put_row_texts(h, &row, c->label ? c->label : p->n, text_of, &held->column[i]);
	else
		pp_h5_put_row_by(h, &row, &(struct pp_h5_fill){put_values, &held->column[i]});
}

/* A row for each row; columns of groups have a value for each group. */
static void put_list(struct pp_h5 *h, const struct pp_table *t, struct held *held, const struct pp_intern *names)
{
	const struct pp_table_desc *d = t->desc;
	char dims[PP_H5_TABLE_DIMS];
	struct pp_h5_row row;

	if (d->once)
		pp_h5_dim(h, d->column[0].name, held->places.n);
	if (d->dim[0])
		pp_h5_dim(h, d->dim, t->rows);
	for (size_t i = 0; i < d->columns; i++)
		if (d->column[i].rule != PP_RULE_GROUP)
			put_column(h, t, i, held, i < d->once ? &held->places : &held->rows, 1, names);
		else if (pp_h5_table_row(d, &d->column[i], dims, &row))
			pp_h5_put_row(h, &row, held->places.group);
}

static void put_axis(struct pp_h5 *h, const struct pp_table_desc *desc, const struct pp_column *c, const struct pp_dataset *d,
                     const int64_t *step, const int32_t *rank)
{
	const int is_step = !strcmp(c->name, "step");
	char dims[PP_H5_TABLE_DIMS];
	struct pp_h5_row row;

	if (!pp_h5_table_row(desc, c, dims, &row) || strcmp(row.group, h->group_name) != 0)
		return;
	pp_h5_dim(h, c->name, is_step ? d->steps : d->workers);
	pp_h5_put_row(h, &row, is_step ? (const void *)step : rank);
}

static void put_grid(struct pp_h5 *h, const struct pp_table *t, struct held *held, const struct pp_dataset *d)
{
	int32_t *rank = malloc((d->workers + 1) * sizeof(*rank));
	int64_t *step = malloc((d->steps + 1) * sizeof(*step));

	if (h->code || !held->places.n)
		goto free_axes;
	if (!rank || !step) {
		h->code = pp_err_set(h->err, -ENOMEM, "no memory for the ranks and steps of '%s'", t->desc->name);
		goto free_axes;
	}
	for (size_t s = 0; s < d->steps; s++)
		step[s] = d->step[s].number;
	for (size_t w = 0; w < d->workers; w++)
		rank[w] = d->worker[w].rank;
	for (size_t i = 0; i < t->desc->columns; i++) {
		const struct pp_column *c = &t->desc->column[i];

		if (c->is_axis || c->rule == PP_RULE_KEY)
			put_axis(h, t->desc, c, d, step, rank);
		else
			put_column(h, t, i, held, &held->places, d->workers, d->names);
	}
free_axes:
	free(step);
	free(rank);
}

/* To the memory, if there is one. */
static void let_go(struct pp_h5 *h, struct held *held)
{
	void *part[] = {held->places.row, held->places.group, held};

	for (size_t i = 0; i < sizeof(part) / sizeof(part[0]); i++)
		if (!h->memory)
			free(part[i]);
		else if (part[i] && pp_h5_memory_own(h->memory, part[i]) && !h->code)
			h->code = pp_err_set(h->err, -ENOMEM, "no memory for group '%s'", h->group_name);
}

static void put_table(struct pp_h5 *h, const struct pp_table *t, const struct pp_dataset *d)
{
	const int is_grid = pp_table_is_grid(t->desc);
	const size_t per = is_grid ? d->workers + !d->workers : 1, at_once = CACHED_BYTES / t->desc->row_size / per;
	struct held *held = calloc(1, sizeof(*held) + t->desc->columns * sizeof(held->column[0]));
	int rc = held ? 0 : -ENOMEM;

	if (held) {
		held->rows.n = t->rows;
		held->places.n = is_grid ? d->steps * d->workers : 0;
	}
	if (held && is_grid && t->desc->keys)
		rc = find_cells(t, d, &held->places);
	else if (held && !is_grid && t->desc->once)
		rc = find_groups(t, &held->places);
	if (rc)
		h->code = h->code ? h->code : pp_err_set(h->err, rc, "no memory for table '%s'", t->desc->name);
	else if (is_grid)
		put_grid(h, t, held, d);
	else
		put_list(h, t, held, d->names);
	if (!h->memory)
		pp_h5_put_end(h, at_once ? at_once : 1);
	if (held)
		let_go(h, held);
}

void pp_h5_put_tables(struct pp_h5 *h, const struct pp_table *table, size_t tables, const struct pp_dataset *d)
{
	for (size_t i = 0; i < tables; i++)
		if (pp_table_is_in(table[i].desc, h->group_name) && (table[i].rows || pp_table_is_grid(table[i].desc)))
			put_table(h, &table[i], d);
}

void pp_h5_write_groups(struct pp_h5 *h, const struct pp_table *table, size_t tables, const struct pp_dataset *d)
{
	const char *group, *absent;

	for (size_t i = 0; i < tables; i++)
		for (size_t k = 0; (group = pp_table_group(table[i].desc, k, &absent)) && !h->code; k++) {
			if (!group[0] || !pp_tables_have(table, tables, group) || pp_h5_has_group(h, group))
				continue;
			pp_h5_group_begin(h, group);
			pp_h5_put_tables(h, table, tables, d);
			pp_h5_group_end(h);
		}
}
