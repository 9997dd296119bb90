/* Cleans text that goes to a terminal or a log of control characters: anybody may choose the names of hosts, ranges and files. */
#pragma once

#include <string.h>

#include "core/base/utf8.h"

/* Replaces each byte that pp_utf8_shown() refuses by '?', except those in `keep` (for example "\n\t"); in place. Clean what
 * goes into a sentence before joining sentences with newlines. */
static inline char *pp_plain(char *text, const char *keep)
{
	size_t length = strlen(text);

	for (size_t i = 0, n; i < length; i += n ? n : 1) {
		n = pp_utf8_shown(text + i, length - i);
		if (!n && !strchr(keep, text[i]))
			text[i] = '?';
	}
	return text;
}
