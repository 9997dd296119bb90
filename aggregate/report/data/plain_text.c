/* Escapes texts for HTML; see plain_text.h. */
#include "aggregate/report/data/plain_text.h"

#include <string.h>

#include "core/base/utf8.h"

void pp_plain_text(FILE *to, const char *text)
{
	size_t length = strlen(text);

	for (size_t i = 0, n; i < length; i += n ? n : 1) {
		const unsigned char c = (unsigned char)text[i];

		n = pp_utf8_sequence(text + i, length - i);
		if (!n || (n > 1 && !pp_utf8_shown(text + i, n)) || (n == 1 && (c < ' ' || c == 0x7f)))
			fputs("&#xfffd;", to);
		else if (n > 1)
			fwrite(text + i, 1, n, to);
		else if (strchr("&<>\"'", c))
			fprintf(to, "&#%u;", (unsigned)c);
		else
			fputc(c, to);
	}
}
