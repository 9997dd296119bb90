/* Text that goes to a terminal or a log without what such a device would obey: names of hosts, ranges and files are anybody's. */
#ifndef PP_BASE_PLAIN_H
#define PP_BASE_PLAIN_H

#include <string.h>

#include "core/ring/utf8.h"

/* '?' for each control byte that is not in `keep` ("\n\t", say), for controls of two bytes and for what is no UTF-8; in place. */
static inline char *pp_plain(char *text, const char *keep)
{
	size_t length = strlen(text);

	for (size_t i = 0, n; i < length; i += n ? n : 1) {
		unsigned char *at = (unsigned char *)text + i;

		n = pp_utf8_sequence(text + i, length - i);
		if (!n || ((at[0] < ' ' || at[0] == 0x7f) && !strchr(keep, at[0])))
			at[0] = '?';
		else if (at[0] == 0xc2 && at[1] < 0xa0)
			at[0] = at[1] = '?';
	}
	return text;
}

#endif
