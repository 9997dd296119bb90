/* Prints the rows of podprof doctor as text or JSON; see doctor_row.h. */
#include "launchers/doctor/doctor_row.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "aggregate/spool/layout.h"
#include "aggregate/write/text/text_print.h"
#include "core/base/plain.h"
#include "launchers/options/say.h"

static int worst, as_json;
static struct pp_json json;
static char names[3][256]; /* of the things in each state, for the last line */

static void json_row(const char *thing, const char *state, const char *text, const char *repair)
{
	pp_json_line(&json);
	pp_json_open(&json, NULL);
	pp_json_add_text(&json, "thing", thing);
	pp_json_add_text(&json, "state", state);
	pp_json_add_text(&json, "text", text);
	pp_json_add_text(&json, "fix", repair);
	pp_json_close(&json);
}

/* Adds a name to a list, once. */
static void add_name(char *list, size_t size, const char *name)
{
	size_t n = strlen(list);

	if (!strstr(list, name) && n < size)
		snprintf(list + n, size - n, "%s%s", n ? ", " : "", name);
}

/* As wide as the terminal; commands of a fix are not folded, as they are copied. */
static void print_row(const char *thing, const char *state, const char *text)
{
	char line[PP_SPOOL_PATH + 1344];
	FILE *from;

	snprintf(line, sizeof(line), "  %-10s %-8s %s\n", thing, state, text);
	from = fmemopen(line, strlen(line), "r");
	if (!from || pp_text_print(from, stdout, pp_columns()))
		fputs(line, stdout);
	if (from)
		fclose(from);
}

void pp_doctor_row(const char *thing, enum pp_doctor_state state, const char *repair, const char *fmt, ...)
{
	static const char *const words[] = {"ok", "limited", "no"};
	char text[PP_SPOOL_PATH + 1280], fix[4 * PP_SPOOL_PATH + 128];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	snprintf(fix, sizeof(fix), "%s", repair);
	if (as_json) {
		json_row(thing, words[state], text, repair);
	} else {
		print_row(thing, words[state], pp_plain(text, "\n"));
		if (state != PP_DOCTOR_OK)
			printf("  %-10s %-8s fix: %s\n", "", "", pp_plain(fix, ""));
	}
	add_name(names[state], sizeof(names[state]), thing);
	fflush(stdout); /* the next row may take long */
	if ((int)state > worst)
		worst = state;
}

void pp_doctor_print_result(void)
{
	if (*names[PP_DOCTOR_NO])
		printf("\nnot ready: %s\n", names[PP_DOCTOR_NO]);
	else if (*names[PP_DOCTOR_LIMITED])
		printf("\nready, with limits: %s\n", names[PP_DOCTOR_LIMITED]);
	else
		puts("\nready");
}

struct pp_json *pp_doctor_json_begin(void)
{
	as_json = 1;
	json = (struct pp_json){.to = stdout};
	pp_json_open(&json, NULL);
	pp_json_add_text(&json, "podprof", PODPROF_VERSION);
	pp_json_open_list(&json, "checks");
	return &json;
}

void pp_doctor_json_end(int green)
{
	pp_json_line(&json);
	pp_json_close(&json);
	pp_json_add_bool(&json, "green", green);
	pp_json_close(&json);
	putchar('\n');
	fflush(stdout);
}

int pp_doctor_is_ready(void)
{
	return worst != PP_DOCTOR_NO;
}
