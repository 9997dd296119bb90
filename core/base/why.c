/* The reason of an error number for a sentence; see why.h. */
#include "core/base/why.h"

#include <stdio.h>
#include <string.h>

const char *pp_why(int error)
{
	static _Thread_local char text[128];

	snprintf(text, sizeof(text), "%s", strerror(error));
	if (text[0] >= 'A' && text[0] <= 'Z' && !(text[1] >= 'A' && text[1] <= 'Z'))
		text[0] = (char)(text[0] - 'A' + 'a');
	return text;
}
