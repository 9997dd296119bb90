/* The first finding of a dataset, as tools.c makes it. */
#pragma once

#include <stdio.h>
#include <stdlib.h>

#include "aggregate/tools/tools.h"
#include "tests/test.h"

/* Rows of /finding, most important first; at most `most` are copied. Returns how many there are. */
static inline size_t findings_of(const struct pp_dataset *d, struct pp_row_finding *to, size_t most)
{
	struct pp_table table[PP_TABLES];
	struct pp_err err = {""};
	struct pp_dataset of = *d;
	size_t rows;

	pp_dataset_tables(&of, table);
	table[PP_TABLE_blame] = table[PP_TABLE_blame_step] = table[PP_TABLE_finding] = (struct pp_table){0};
	pp_dataset_take_tables(&of, table);
	pp_dataset_tables(&of, table);
	CHECK_INT(pp_tool_blame(&of, table, &err), 0);
	CHECK_INT(pp_tool_finding(&of, table, &err), 0);
	rows = table[PP_TABLE_finding].rows;
	for (size_t i = 0; i < rows && i < most; i++)
		to[i] = ((const struct pp_row_finding *)table[PP_TABLE_finding].row)[i];
	free(table[PP_TABLE_blame].row);
	free(table[PP_TABLE_blame_step].row);
	free(table[PP_TABLE_finding].row);
	return rows;
}

/* The sentence of the first one, as answer.c has it. */
static inline void say_first_finding(const struct pp_dataset *d, char *text, size_t size)
{
	struct pp_row_finding first;

	snprintf(text, size, "%s", findings_of(d, &first, 1) ? first.finding : "unknown: no complete step was recorded");
}
