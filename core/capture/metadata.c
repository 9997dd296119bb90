/* Remarks of a rank, each once; see metadata.h. Called by aggregate/read and join.c. */
#include "core/capture/metadata.h"

#include <stdio.h>
#include <string.h>

void pp_remark_add(char (*remark)[PP_REMARK_TEXT], uint32_t *remarks, const char *text)
{
	uint32_t remaining = *remarks < PP_REMARKS ? *remarks : PP_REMARKS;

	for (uint32_t i = 0; i < remaining; i++)
		if (!strcmp(remark[i], text))
			return;
	if (remaining < PP_REMARKS)
		snprintf(remark[remaining], PP_REMARK_TEXT, "%s", text);
	++*remarks;
}
