/* Prints a summary on a terminal, or into a pipe without its bars. Called by launchers/cmd_report. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/write/text/text.h"
#include "core/base/plain.h"

enum {
	FOLD = 4,          /* indentation of the rest of a folded line */
	BAR_COLUMNS = 100, /* narrower terminals get no bars */
};

/* Finds the bar: between two '|' with only '#' and blanks between them. */
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

/* Columns of a line of UTF-8 without its end. */
static int width(const char *line)
{
	int columns = 0;

	for (; *line && *line != '\n'; line++)
		columns += (*line & 0xC0) != 0x80;
	return columns;
}

/* Bytes of the line that fit, up to a blank; 0: all. A longer word is not broken. */
static size_t fold_at(const char *line, int columns)
{
	size_t indent = strspn(line, " "), at = 0, i;
	int here = (int)indent;

	if (width(line) <= columns)
		return 0;
	for (i = indent; line[i] && line[i] != '\n' && (here <= columns || !at); i++) {
		if (line[i] == ' ' && line[i - (i > 0)] != ' ')
			at = i;
		here += (line[i] & 0xC0) != 0x80;
	}
	return at;
}

/* Indents the rest under the line's text. */
static int put_folded(const char *line, int columns, FILE *out)
{
	int indent = (int)strspn(line, " ") + FOLD, hang = 0;
	size_t n;

	while (columns > 2 * FOLD + indent && (n = fold_at(line, columns - hang))) {
		if (fprintf(out, "%*s%.*s\n", hang, "", (int)n, line) < 0)
			return -1;
		line += n + strspn(line + n, " ");
		hang = indent;
	}
	return fprintf(out, "%*s%s", hang, "", line) < 0 ? -1 : 0;
}

static void drop_bar(char *bar, size_t n)
{
	char *after = bar + n + 2 + (bar[n + 2] == ' '); /* the bar, its frame, and the blank after it */

	memmove(bar, after, strlen(after) + 1);
}

int pp_text_print(FILE *in, FILE *out, int columns)
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
		if (bar && columns >= BAR_COLUMNS)
			bar[0] = bar[n + 1] = ' ';
		else if (bar)
			drop_bar(bar, n);
		errno = 0;
		if (columns ? put_folded(line, columns, out) : fputs(line, out) < 0) {
			code = -(errno ? errno : EIO);
			break;
		}
	}
	if (!code && ferror(in))
		code = -EIO;
	free(line);
	return code;
}
