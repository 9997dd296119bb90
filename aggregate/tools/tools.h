/* Tools: each fills tables of the whole dataset from the rest of it, and has no other effect. In: a finished dataset. Out: rows
 * of the tables whose description says POD. Called by the session once all hosts are in. */
#pragma once

#include "aggregate/dataset/dataset.h"

/* tables: [PP_TABLES]; rows of its own by pp_table_add(), in the order of their keys. */
#define PP_TOOL(name) int pp_tool_##name(const struct pp_dataset *in, struct pp_table *tables, struct pp_err *err);
#include "aggregate/tools/tool_list.def"
#undef PP_TOOL

/* Runs all tools, once. */
int pp_tools_run(struct pp_dataset *d, struct pp_err *err);
