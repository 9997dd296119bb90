/* A summary on a terminal, or in a pipe without its bars. Called by launchers/cmd_report. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/write/text.h"
#include "core/base/plain.h"

/* The column of bars: between two '|' that have nothing but '#' and blanks between them. */
static char *find_bar(char *line, size_t *ret_length)
{
	for (char *p = strchr(line, '|'); p; p = strchr(p + 1, '|')) {
		size_t n = strspn(p + 1, "# ");

		if (n && p[n + 1] == '|') {
			*ret_length = n;
			return p;
		}
	}
	return NULL;
}

int pp_text_print(FILE *in, FILE *out, int bars)
{
	char *line = NULL;
	size_t size = 0;
	ssize_t length;
	int code = 0;

	while ((length = getline(&line, &size, in)) > 0) {
		size_t n;
		char *bar;

		for (ssize_t i = 0; i < length; i++)
			if (!line[i])
				line[i] = '?';
		bar = find_bar(pp_plain(line, "\n\t"), &n);
		if (bar && bars) {
			bar[0] = bar[n + 1] = ' ';
		} else if (bar) { /* the bar, its frame, and the blank after it */
			char *after = bar + n + 2 + (bar[n + 2] == ' ');

			memmove(bar, after, strlen(after) + 1);
			length = (ssize_t)strlen(line);
		}
		if (fwrite(line, 1, (size_t)length, out) != (size_t)length) {
			code = -(errno ? errno : EIO);
			break;
		}
	}
	if (!code && ferror(in))
		code = -EIO;
	free(line);
	return code;
}
