/* Fills /message_size: size of operations against their bandwidth. Called by tools.c. */
#include "aggregate/tools/tools.h"

int pp_tool_message_size(const struct pp_dataset *in, struct pp_table *tables, struct pp_err *err)
{
	(void)in;
	(void)tables;
	(void)err;
	return 0;
}
