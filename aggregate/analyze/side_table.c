/* Tables that are made SIDE: a row of a rank's side array becomes a row of the table of that name, field by field. Called by
 * build.c. */
#include <errno.h>
#include <string.h>

#include "aggregate/analyze/build.h"
#include "aggregate/analyze/join.h"
#include "core/capture/capture.h"
#include "core/capture/side.h"

/* NULL: no field has what the column shows. */
static const struct pp_side_field *field_of(const struct pp_side_array *side, const struct pp_column *c)
{
	if (c->type == PP_TYPE_TIME)
		return pp_side_time(side);
	for (size_t f = 0; f < side->fields; f++)
		if (!strcmp(side->field[f].name, c->name))
			return &side->field[f];
	return NULL;
}

/* As pp_column_store() takes it. In side arrays -1 is unknown. */
static int64_t value_of(const struct pp_side_field *f, const struct pp_column *c, const char *row)
{
	const unsigned unused = 64 - 8 * (unsigned)f->size;
	uint64_t bits = 0;
	int64_t value;
	double real;

	memcpy(&bits, row + f->offset, f->size);
	value = f->type == PP_SIDE_TYPE_I ? (int64_t)(bits << unused) >> unused : (int64_t)bits;
	memcpy(&real, &bits, sizeof(real));
	return c->is_maybe && (c->type == PP_TYPE_F64 ? real == -1 : value == -1) ? pp_column_unknown(c) : value;
}

static int fill_row(struct pp_table *t, const struct pp_side_array *side, const struct pp_rank *rank, const char *from)
{
	const int64_t number = rank->rank;

	if (!pp_table_add(t))
		return -ENOMEM;
	for (size_t i = 0; i < t->desc->columns; i++) {
		const struct pp_column *c = &t->desc->column[i];
		const struct pp_side_field *f = field_of(side, c);
		const int64_t value = f ? value_of(f, c, from) : number;

		if (f || c->type == PP_TYPE_WORKER)
			pp_column_store(c, t, t->rows - 1, 1, 0, &value);
	}
	return 0;
}

static int fill_table(struct pp_table *t, const struct pp_side_array *side, const struct pp_capture *c)
{
	int rc = 0;

	for (size_t r = 0; r < c->ranks && rc == 0; r++) {
		const char *row = pp_side_rows(side, &c->rank[r]);
		const size_t count = pp_side_count(side, &c->rank[r]);

		for (size_t i = 0; i < count && rc == 0; i++)
			rc = fill_row(t, side, &c->rank[r], row + i * side->size);
	}
	return rc;
}

int pp_join_side_tables(struct pp_join *j)
{
	struct pp_table table[PP_TABLES];
	int rc = 0;

	pp_dataset_tables(j->d, table);
	for (int id = 0; id < PP_TABLES; id++)
		for (int s = 0; s < PP_SIDE_IDS && table[id].desc->made == PP_MADE_SIDE && rc == 0; s++)
			if (!strcmp(pp_side_arrays[s].name, table[id].desc->name))
				rc = fill_table(&table[id], &pp_side_arrays[s], j->in->capture);
	pp_dataset_take_tables(j->d, table);
	return rc;
}
