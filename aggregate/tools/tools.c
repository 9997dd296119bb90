/* Runs every tool of tool_list.def on a finished dataset; see tools.h. Called by the session. */
#include "aggregate/tools/tools.h"

#include <stddef.h>

int pp_tools_run(struct pp_dataset *d, struct pp_err *err)
{
	static int (*const tool[])(const struct pp_dataset *in, struct pp_table *tables, struct pp_err *err) = {
#define PP_TOOL(name) pp_tool_##name,
#include "aggregate/tools/tool_list.def"
#undef PP_TOOL
	        NULL};
	struct pp_table table[PP_TABLES];
	int rc = 0;

	pp_dataset_tables(d, table);
	for (size_t i = 0; tool[i] && !rc; i++)
		rc = tool[i](d, table, err);
	pp_dataset_take_tables(d, table);
	return rc;
}
