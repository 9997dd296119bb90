/* Text that goes to a terminal or a log without what such a device would obey: names of hosts, ranges and files are anybody's. */
#pragma once

#include <string.h>

#include "core/ring/utf8.h"

/* A sentence is one line: what goes into it is cleaned before newlines of podprof's own are put between sentences.
 * '?' for each byte of what pp_utf8_shown() refuses, but for what is in `keep` ("\n\t", say); in place. */
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
