/* The tables of pp_dataset: their rows as structs, their numbers, their descriptions. In: table_list.def. */
#pragma once

#include "aggregate/dataset/table/rows.h"

enum {
#define PP_TABLE(name, rows, group, dimension, made, check, absent) PP_TABLE_##name,
#include "aggregate/dataset/table/table_list.def"
	PP_TABLES
};

/* Of PP_TABLE_NAME. */
const struct pp_table_desc *pp_table_desc(int id);
