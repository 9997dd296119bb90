/* Prints a summary on a terminal, as wide as it is, or into a pipe without its bars. Called by launchers/cmd_report. */
#include "aggregate/write/text/text_print.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/grow.h"
#include "core/base/plain.h"

enum {
	FOLD = 4,    /* indentation of the rest of a folded line */
	LABEL = 14,  /* where the text behind "  Label:" begins */
	BETWEEN = 3, /* blanks before the last column of a table, which a tab stands for */
	WIDEST = 512 /* columns in which rows are squeezed */
};

struct table { /* adjacent lines with a bar or a last column */
	char **line;
	size_t lines, room;
};

/* Finds the bar: between two '|' with only '#' and blanks between them. */
static const char *find_bar(const char *line, size_t *ret_length)
{
	for (const char *p = strchr(line, '|'); p; p = strchr(p + 1, '|')) {
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
	size_t colon = strcspn(line, ":"), n;
	int is_labelled = line[colon] && colon + 1 + strspn(line + colon + 1, " ") == LABEL;
	int indent = is_labelled ? LABEL : (int)strspn(line, " ") + FOLD, hang = 0;

	while (strncmp(line + strspn(line, " "), "$ ", 2) != 0 && columns > 2 * FOLD + indent &&
	       (n = fold_at(line, columns - hang))) {
		if (fprintf(out, "%*s%.*s\n", hang, "", (int)n, line) < 0)
			return -1;
		line += n + strspn(line + n, " ");
		hang = indent;
	}
	return fprintf(out, "%*s%s", hang, "", line) < 0 ? -1 : 0;
}

static void drop_bar(char *line)
{
	size_t n;
	const char *found = find_bar(line, &n), *after;
	char *bar = line + (found ? found - line : 0);

	if (!found)
		return;
	after = bar + n + 2 + (bar[n + 2] == ' '); /* the bar, its frame, and the blank after it */
	memmove(bar, after, strlen(after) + 1);
}

/* Without its last column, or with blanks before it. */
static void put_row(const char *line, int has_last, FILE *out)
{
	size_t n, head = strcspn(line, "\t\n"), bar;
	const char *frame = find_bar(line, &bar);

	for (size_t i = 0; i < head; i++)
		fputc(frame && (line + i == frame || line + i == frame + bar + 1) ? ' ' : line[i], out);
	n = strlen(line + head);
	if (line[head] == '\t' && has_last)
		fprintf(out, "%*s%s", BETWEEN, "", line + head + 1);
	else if (n && line[strlen(line) - 1] == '\n')
		fputc('\n', out);
}

/* The widest row, with or without the last column. */
static int width_of(const struct table *t, int has_last)
{
	int most = 0;

	for (size_t i = 0; i < t->lines; i++) {
		const char *tab = strchr(t->line[i], '\t');
		int w = width(t->line[i]);

		if (tab)
			w = has_last ? w - 1 + BETWEEN : w - width(tab);
		most = w > most ? w : most;
	}
	return most;
}

/* Marks the columns in which the row, without its last column, has something. */
static void mark_used(const char *line, char used[WIDEST])
{
	int column = -1;

	for (; *line && *line != '\t' && *line != '\n' && column < WIDEST - 1; line++) {
		column += (*line & 0xC0) != 0x80;
		if (*line != ' ')
			used[column] = 1;
	}
}

/* A column of the widest gap behind the indentation, of those with two columns or more; -1: there is none. */
static int widest_gap(const char used[WIDEST])
{
	int at = -1, most = 1, first = 0;

	while (first < WIDEST && !used[first])
		first++;
	for (int i = first, blanks = 0; i < WIDEST; i++) {
		if (used[i] && blanks > most) {
			most = blanks;
			at = i - 1;
		}
		blanks = used[i] ? 0 : blanks + 1;
	}
	return at;
}

static void drop_column(char *line, int column)
{
	for (int here = -1; *line && *line != '\t' && *line != '\n'; line++) {
		here += (*line & 0xC0) != 0x80;
		if (here == column) {
			memmove(line, line + 1, strlen(line));
			return;
		}
	}
}

/* Blanks before the last column, which is left out. */
static void drop_end(char *line)
{
	size_t end = strcspn(line, "\t\n"), n = end;

	while (n && line[n - 1] == ' ')
		n--;
	memmove(line + n, line + end, strlen(line + end) + 1);
}

/* Takes out columns that are blank in all rows, those of the widest gap first, until the rows fit; one of each gap stays. */
static void squeeze(struct table *t, int columns)
{
	char used[WIDEST] = {0};
	int at;

	for (size_t i = 0; i < t->lines; i++) {
		drop_end(t->line[i]);
		mark_used(t->line[i], used);
	}
	for (int excess = width_of(t, 0) - columns; excess > 0 && (at = widest_gap(used)) >= 0; excess--) {
		memmove(used + at, used + at + 1, (size_t)(WIDEST - 1 - at));
		used[WIDEST - 1] = 0;
		for (size_t i = 0; i < t->lines; i++)
			drop_column(t->line[i], at);
	}
}

/* Prints a table that is complete, and forgets it. Returns whether its last column did not fit. */
static int put_table(struct table *t, int columns, FILE *out)
{
	int has_last;

	if (!columns || width_of(t, 1) > columns)
		for (size_t i = 0; i < t->lines; i++)
			drop_bar(t->line[i]);
	has_last = !columns || width_of(t, 1) <= columns;
	if (!has_last)
		squeeze(t, columns);
	for (size_t i = 0; i < t->lines; i++) {
		put_row(t->line[i], has_last, out);
		free(t->line[i]);
	}
	t->lines = 0;
	return !has_last;
}

/* Owns the line from now on. 0, or -ENOMEM. */
static int add_row(struct table *t, char *line)
{
	char **more = pp_grow(t->line, t->lines, &t->room, sizeof(*more));

	if (!more) {
		free(line);
		return -ENOMEM;
	}
	t->line = more;
	t->line[t->lines++] = line;
	return 0;
}

int pp_text_print(FILE *in, FILE *out, int columns)
{
	struct table table = {.line = NULL};
	char *line = NULL, remark[128];
	size_t size = 0, n;
	ssize_t length;
	int code = 0, dropped = 0;

	errno = 0;
	while (code == 0 && (length = getline(&line, &size, in)) > 0) {
		for (ssize_t i = 0; i < length; i++)
			if (!line[i])
				line[i] = '?';
		pp_plain(line, "\n\t");
		if (strchr(line, '\t') || find_bar(line, &n)) {
			code = add_row(&table, line);
			line = NULL;
			size = 0;
			continue;
		}
		dropped += put_table(&table, columns, out);
		if (columns ? put_folded(line, columns, out) : fputs(line, out) < 0)
			code = -(errno ? errno : EIO);
	}
	dropped += put_table(&table, columns, out);
	if (dropped && !code) {
		snprintf(remark, sizeof(remark), "  (%d table%s shown without the last column: the terminal has %d columns)\n",
		         dropped, dropped == 1 ? " is" : "s are", columns);
		put_folded(remark, columns, out);
	}
	if (!code && (ferror(in) || ferror(out)))
		code = -(errno ? errno : EIO);
	free(table.line);
	free(line);
	return code;
}
