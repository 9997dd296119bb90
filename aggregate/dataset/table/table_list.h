/* The tables of pp_dataset: their rows as structs, their numbers, their descriptions. In: table_list.def. */
#pragma once

#include "aggregate/dataset/table/rows.h"

enum {
#define PP_TABLE(name, rows, group, dimension, made, check, absent) PP_TABLE_##name,
#include "aggregate/dataset/table/table_list.def"
	PP_TABLES
};

/* Fault of a row; NULL: none. host_clock.c. */
const char *pp_host_clock_wrong(const void *row);
const char *pp_clock_sample_wrong(const void *row);
const char *pp_clock_stretch_wrong(const void *row);
const char *pp_clock_change_wrong(const void *row);
/* Of PP_TABLE_NAME. */
const struct pp_table_desc *pp_table_desc(int id);
