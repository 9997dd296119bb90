/* Tables as text: CSV and JSON; see table.h. Called by `podprof report --table`. */
#include "aggregate/dataset/table/table_text.h"

#include <inttypes.h>
#include <string.h>

#include "aggregate/dataset/table/table.h"

#define EXACT ((int64_t)1 << 53) /* JSON readers take numbers for doubles: larger ones are text */

enum form { CSV, SHEET, JSON }; /* SHEET: CSV in which no text is a formula */

/* CSV doubles quotes (RFC 4180); JSON escapes characters with a meaning in a page or a reader. Names of ranges and files are the
 * application's: a spreadsheet would run one that begins as a formula does. */
static void put_quoted(const char *text, int length, enum form form, FILE *to)
{
	fputc('"', to);
	if (form == SHEET && length > 0 && text[0] && strchr("=+-@\t\r", text[0]))
		fputc('\'', to);
	for (int i = 0; i < length; i++) {
		unsigned char c = (unsigned char)text[i];

		if (form == JSON && (c < ' ' || strchr("<>&\"\\", c)))
			fprintf(to, "\\u%04x", (unsigned)c);
		else if (c == '"')
			fputs("\"\"", to);
		else
			fputc(c, to);
	}
	fputc('"', to);
}

/* Element k of a row. */
static void put_value(const struct pp_table *t, const struct pp_column *c, size_t row, size_t k, const struct pp_intern *names,
                      enum form form, FILE *to)
{
	const char *word;
	size_t length;
	double real;
	int64_t v;
	int n;

	if (c->text) {
		word = c->text((const char *)t->row + row * t->desc->row_size, names, &length);
		put_quoted(word, (int)length, form, to);
		return;
	}
	if (c->is_axis)
		v = !t->axis[1] ? 0 : strcmp(c->name, "step") ? t->axis[1][row % t->workers] : t->axis[0][row / t->workers];
	else
		pp_column_load(c, t, row, 1, k, &v);
	if (pp_column_is_unknown(c, v)) { /* CSV: nothing */
		fputs(form == JSON ? "null" : "", to);
		return;
	}
	if (c->word) {
		word = c->word((int)v);
		put_quoted(word, (int)strlen(word), form, to);
		return;
	}
	switch (c->type) {
	case PP_TYPE_CHARS:
		word = pp_column_at(c, t, row);
		put_quoted(word, (int)strlen(word), form, to);
		return;
	case PP_TYPE_TEXT:
		word = pp_intern_text(names, (uint32_t)v, &length);
		put_quoted(word, (int)length, form, to);
		return;
	case PP_TYPE_CODE:
		word = pp_column_word(c, v, &n);
		put_quoted(word, n, form, to);
		return;
	case PP_TYPE_F64:
		memcpy(&real, &v, sizeof(real));
		fprintf(to, "%.17g", real);
		return;
	default:
		n = form == JSON && (c->type == PP_TYPE_U64 ? (uint64_t)v > (uint64_t)EXACT : v > EXACT || v < -EXACT);
		fputs(n ? "\"" : "", to);
		fprintf(to, c->type == PP_TYPE_U64 ? "%" PRIu64 : "%" PRId64, v);
		fputs(n ? "\"" : "", to);
	}
}

/* "dropped ring_full", or "causes_0" where no coordinate has texts for the places. */
static void put_heading(const struct pp_table_desc *d, const struct pp_column *c, size_t k, FILE *to)
{
	char text[2 * PP_TABLE_WORD + 2];
	int n = snprintf(text, sizeof(text), pp_column_values(c) > 1 ? "%s_%zu" : "%s", c->name, k);

	for (size_t i = 0; c->dim[0] && i < d->columns; i++)
		if (d->column[i].label && !strcmp(d->column[i].name, c->dim))
			n = snprintf(text, sizeof(text), "%s %s", c->name, d->column[i].word((int)k));
	if (strpbrk(text, ",\""))
		put_quoted(text, n < (int)sizeof(text) ? n : (int)sizeof(text) - 1, CSV, to);
	else
		fputs(text, to);
}

static void put_lines(const struct pp_table *t, const struct pp_intern *names, enum form form, FILE *to)
{
	for (size_t r = 0; r <= t->rows; r++) {
		const char *comma = "";

		for (size_t i = 0; i < t->desc->columns; i++) {
			const struct pp_column *c = &t->desc->column[i];

			for (size_t k = 0; k < pp_column_shown(t->desc, c); k++, comma = ",") {
				fputs(comma, to);
				if (r) {
					put_value(t, c, r - 1, k, names, form, to);
					continue;
				}
				put_heading(t->desc, c, k, to);
			}
		}
		fputc('\n', to);
	}
}

void pp_table_csv(const struct pp_table *t, const struct pp_intern *names, FILE *to)
{
	put_lines(t, names, CSV, to);
}

void pp_table_sheet(const struct pp_table *t, const struct pp_intern *names, FILE *to)
{
	put_lines(t, names, SHEET, to);
}

void pp_table_json(const struct pp_table *t, const struct pp_intern *names, FILE *to)
{
	const char *comma = "";

	fprintf(to, "{\"table\":\"%s\",\"rows\":%zu,\"columns\":[", t->desc->name, t->rows);
	for (size_t i = 0; i < t->desc->columns; i++) {
		const struct pp_column *c = &t->desc->column[i];
		const uint32_t shown = pp_column_shown(t->desc, c);

		if (!shown)
			continue;
		fprintf(to, "%s\n{\"name\":\"%s\",\"unit\":\"%s\",\"what\":", comma, c->name, c->unit);
		put_quoted(c->what, (int)strlen(c->what), JSON, to);
		fputs(",\"data\":[", to);
		for (size_t r = 0; r < t->rows * shown; r++) {
			fputs(r ? "," : "", to);
			put_value(t, c, r / shown, r % shown, names, JSON, to);
		}
		fputs("]}", to);
		comma = ",";
	}
	fputs("]}\n", to);
}
