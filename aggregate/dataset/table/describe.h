/* The function PP_TABLE_DESC(id): descriptions of the tables in PP_TABLE_LIST. Included by one .c file a list: describe.c, and
 * tests that have a list of their own. */
#ifndef PP_TABLE_DESC
#define PP_TABLE_DESC pp_table_desc
#include "aggregate/dataset/host_clock.h"
#include "aggregate/dataset/table/functions.h"
#include "aggregate/dataset/table/table_list.h"
#endif

#ifndef PP_TABLE_ROW
#define PP_TABLE_ROW(name) struct pp_row_##name
#endif
#define PP_RULE_BY(function) PP_RULE_CALL, .by = (function)
/* Inside a function, `row` is its table's struct: a column needs not say whose it is. */
#define PP_TABLE(name, rows, group, dimension, made, check, absent)                                                                \
	static const struct pp_table_desc *describe_##name(void)                                                                   \
	{                                                                                                                          \
		typedef PP_TABLE_ROW(name) row;                                                                                    \
		static struct pp_table_desc desc = {#name, group, dimension, absent, PP_MADE_##made, sizeof(row), check,           \
		                                    0,     0,     0,         NULL};                                                \
		static const struct pp_column column[] = {
#define PP_INDEX(name, what) {#name, "", "", what, "", 0, 0, PP_TYPE_I64, 0, .rule = PP_RULE_INDEX},
#define PP_VALUES(name, type, count) offsetof(row, name), (count), PP_TYPE_##type, sizeof(pp_c_##type), PP_IS_MAYBE_##type
#define PP_ARRAY(name, type, count, dimension, unit, rule_of, what)                                                                \
	{#name, dimension, unit, what, "", PP_VALUES(name, type, count), .rule = PP_RULE_##rule_of, .may_grow = 1},
#define PP_COLUMN(name, type, unit, rule_of, what) PP_ARRAY(name, type, 1, "", unit, rule_of, what)
#define PP_SCALAR(name, type, unit, rule_of, what)                                                                                 \
	{#name, "", unit, what, "", PP_VALUES(name, type, 1), .rule = PP_RULE_##rule_of, .is_scalar = 1},
#define PP_CHARS(name, size, rule_of, what) PP_ARRAY(name, CHARS, size, "", "", rule_of, what)
#define PP_CODE(name, words, rule_of, what) {#name, "", "", what, words, PP_VALUES(name, CODE, 1), .rule = PP_RULE_##rule_of},
#define PP_NAMED(name, type, word_of, rule_of, what)                                                                               \
	{#name, "", "", what, "", PP_VALUES(name, type, 1), .word = (word_of), .rule = PP_RULE_##rule_of},
#define PP_SHOWN(name, text_of, what) {#name, "", "", what, "", 0, 0, PP_TYPE_TEXT, 0, .rule = PP_RULE_LATE, .text = (text_of)},
#define PP_GROUP(name, what) {#name, "", "", what, "", 0, 0, PP_TYPE_I64, 0, .rule = PP_RULE_GROUP},
#define PP_LABEL(name, count, word_of, what)                                                                                       \
	{#name, "", "", what, "", 0, 0, PP_TYPE_TEXT, 0, .rule = PP_RULE_LATE, .word = (word_of), .label = (count)},
#define PP_BY_ID(name, type, count, dimension, unit, rule_of, what)                                                                \
	{#name,                                                                                                                    \
	 dimension,                                                                                                                \
	 unit,                                                                                                                     \
	 what,                                                                                                                     \
	 "",                                                                                                                       \
	 offsetof(row, name) + sizeof(pp_c_##type),                                                                                \
	 (count),                                                                                                                  \
	 PP_TYPE_##type,                                                                                                           \
	 sizeof(pp_c_##type),                                                                                                      \
	 PP_IS_MAYBE_##type,                                                                                                       \
	 .rule = PP_RULE_##rule_of},
#define PP_ALIAS(name, column, type, what)                                                                                         \
	{#name, "", "", what, "", PP_VALUES(column, type, 1), .rule = PP_RULE_LATE, .is_alias = 1},
#define PP_PLACE(member, type)                                                                                                     \
	offsetof(row, member), PP_TYPE_##type == PP_TYPE_CHARS ? sizeof(((row *)0)->member) : 1, PP_TYPE_##type,                   \
	        sizeof(pp_c_##type), PP_IS_MAYBE_##type
#define PP_FIELD(name, member, type, unit, rule_of, what)                                                                          \
	{#name, "", unit, what, "", PP_PLACE(member, type), .rule = PP_RULE_##rule_of},
#define PP_AXIS(name, type, what)                                                                                                  \
	{#name, "", "", what, "", 0, 0, PP_TYPE_##type, sizeof(pp_c_##type), .rule = PP_RULE_LATE, .is_axis = 1},
#define PP_IN(group, absent) {group, "", "", absent, "", 0, 0, PP_TYPE_I64, 0, .rule = PP_RULE_IN},
#define PP_TABLE_END()                                                                                                             \
	}                                                                                                                          \
	;                                                                                                                          \
	return pp_table_describe(&desc, column, sizeof(column) / sizeof(*column));                                                 \
	}
#include PP_TABLE_LIST

const struct pp_table_desc *PP_TABLE_DESC(int id)
{
	static const struct pp_table_desc *(*const describe[])(void) = {
#define PP_TABLE(name, rows, group, dimension, made, check, absent) describe_##name,
#include PP_TABLE_LIST
	};
	return describe[id]();
}
