/* Row structs of the tables in PP_TABLE_LIST: struct pp_row_NAME. Included once a list, by table_list.h and by tests that have a
 * list of their own. */
#include "aggregate/dataset/table/finding_kind.h"
#include "aggregate/dataset/table/reason.h"
#include "aggregate/dataset/table/table.h"
#include "core/capture/metadata.h" /* what descriptions name, and the next three */
#include "core/clock/wall.h"
#include "core/ring/record.h"
#include "core/step/category.h"

#ifndef PP_TABLE_LIST
#define PP_TABLE_LIST "aggregate/dataset/table/table_list.def"
#endif

#define PP_TABLE(name, rows, group, dimension, made, check, absent) struct pp_row_##name {
#define PP_COLUMN(name, type, unit, rule, what) pp_c_##type name;
#define PP_ARRAY(name, type, count, dimension, unit, rule, what) pp_c_##type name[count];
#define PP_SCALAR(name, type, unit, rule, what) pp_c_##type name;
#define PP_CHARS(name, size, rule, what) char name[size];
#define PP_CODE(name, words, rule, what) pp_c_CODE name;
#define PP_NAMED(name, type, word, rule, what) pp_c_##type name;
#define PP_BY_ID(name, type, count, dimension, unit, rule, what) pp_c_##type name[(count) + 1];
#define PP_MEMBER(declaration) declaration;
#define PP_TABLE_END()                                                                                                             \
	}                                                                                                                          \
	;
#include PP_TABLE_LIST
