/* Are the columns of two tables that hosts send equal? Says the first that is not. Used by block_test.c and table_test.c. */
#pragma once

#include "aggregate/dataset/table/table.h"
#include "tests/test.h"

static inline int same_value(const struct pp_column *c, const struct pp_table *a, const struct pp_intern *names_a,
                             const struct pp_table *b, const struct pp_intern *names_b, size_t row)
{
	int64_t x, y;

	if (c->type == PP_TYPE_CHARS)
		return !strcmp(pp_column_at(c, a, row), pp_column_at(c, b, row));
	for (size_t k = 0; k < c->count; k++) {
		pp_column_load(c, a, row, 1, k, &x);
		pp_column_load(c, b, row, 1, k, &y);
		if (c->type == PP_TYPE_TEXT
		            ? strcmp(pp_intern_text(names_a, (uint32_t)x, NULL), pp_intern_text(names_b, (uint32_t)y, NULL)) != 0
		            : x != y)
			return 0;
	}
	return 1;
}

/* "cell.wait_ns", or "cell rows"; "": all are equal. Valid until the next call. */
static inline const char *first_difference(const struct pp_table *a, const struct pp_intern *names_a, const struct pp_table *b,
                                           const struct pp_intern *names_b)
{
	const struct pp_table_desc *d = a->desc;
	static char name[160];

	snprintf(name, sizeof(name), "%s rows", d->name);
	if (a->rows != b->rows)
		return name;
	for (size_t i = 0; i < d->columns; i++) {
		const struct pp_column *c = &d->column[i];

		snprintf(name, sizeof(name), "%s.%s", d->name, c->name);
		for (size_t row = 0; c->rule < PP_RULE_LATE && row < a->rows; row++)
			if (!same_value(c, a, names_a, b, names_b, row))
				return name;
	}
	return "";
}
