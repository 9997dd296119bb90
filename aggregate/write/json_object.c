/* Writes objects and lists of JSON; see json_object.h. */
#include "aggregate/write/json_object.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "aggregate/write/json.h"

enum { NUMBER = 512 /* "%f" of the largest double has 317 characters */ };

static uint64_t innermost(const struct pp_json *j)
{
	return UINT64_C(1) << j->depth;
}

static void begin(struct pp_json *j, const char *name)
{
	if (j->filled & innermost(j))
		fputc(',', j->to);
	if (j->is_line)
		fputc('\n', j->to);
	j->filled |= innermost(j);
	j->is_line = 0;
	if (name) {
		pp_json_text(j->to, name);
		fputc(':', j->to);
	}
}

static void enter(struct pp_json *j, const char *name, char bracket)
{
	begin(j, name);
	fputc(bracket, j->to);
	j->depth++;
	j->filled &= ~innermost(j);
	j->lists &= ~innermost(j);
}

void pp_json_open(struct pp_json *j, const char *name)
{
	enter(j, name, '{');
}

void pp_json_open_list(struct pp_json *j, const char *name)
{
	enter(j, name, '[');
	j->lists |= innermost(j);
}

void pp_json_close(struct pp_json *j)
{
	if (j->is_line)
		fputc('\n', j->to);
	j->is_line = 0;
	fputc(j->lists & innermost(j) ? ']' : '}', j->to);
	j->depth--;
}

void pp_json_line(struct pp_json *j)
{
	j->is_line = 1;
}

void pp_json_add_text(struct pp_json *j, const char *name, const char *text)
{
	if (!text) {
		pp_json_add_null(j, name);
		return;
	}
	begin(j, name);
	pp_json_text(j->to, text);
}

void pp_json_add_int(struct pp_json *j, const char *name, int64_t value)
{
	begin(j, name);
	pp_json_int(j->to, value);
}

void pp_json_add_real(struct pp_json *j, const char *name, double value)
{
	begin(j, name);
	pp_json_real(j->to, value);
}

void pp_json_add_bool(struct pp_json *j, const char *name, int value)
{
	begin(j, name);
	fputs(value ? "true" : "false", j->to);
}

void pp_json_add_null(struct pp_json *j, const char *name)
{
	begin(j, name);
	fputs("null", j->to);
}

void pp_json_add_number(struct pp_json *j, const char *name, const char *fmt, ...)
{
	char text[NUMBER];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	begin(j, name);
	fputs(strpbrk(text, "nN") ? "null" : text, j->to); /* "nan", "-inf" */
}

void pp_json_add_id(struct pp_json *j, const char *name, uint64_t id)
{
	begin(j, name);
	fprintf(j->to, "\"%016" PRIx64 "\"", id);
}
