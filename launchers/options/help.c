/* Prints the help of a verb from the option table; see help.h. Called by options.c, podprof.c and man.c. */
#include "launchers/options/help.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { PIPE_WIDTH = 79, LEAST = 30, NARROW = 60, WIDE = 110, LEFT = 2, TEXT = 25, EXAMPLE = 6, LONG = 640 };

/* Headlines, in the order of the option table. */
static const char *const section[PP_OPT_SECTIONS] = {
        "Options:", "Steps and time:", "On demand and lookback:", "Output:", "Memory and spool:", "Several hosts:"};

static const struct pp_help_example examples[] = {
#define PP_EXAMPLE(verb, command, meaning) {verb, command, meaning},
#include "launchers/options/man_text.def"
};

const struct pp_help_example *pp_help_example(const char *verb, const struct pp_help_example *last)
{
	size_t i = last ? (size_t)(last - examples) + 1 : 0;

	for (; i < sizeof(examples) / sizeof(examples[0]); i++)
		if (!strcmp(examples[i].verb, verb))
			return &examples[i];
	return NULL;
}

static int width(void)
{
	struct winsize w;
	int columns;

	if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) || !w.ws_col)
		return PIPE_WIDTH;
	columns = w.ws_col - 1;
	return columns < LEAST ? LEAST : columns > WIDE ? WIDE : columns;
}

void pp_help_wrap(const char *text, int indent, int used)
{
	int right = width(), column = used, empty = 1;
	const int is_narrow = right < NARROW && indent > EXAMPLE;

	indent = is_narrow ? EXAMPLE : indent;
	if (used && (used >= indent || is_narrow)) { /* no room beside what is there */
		putchar('\n');
		column = 0;
	}
	while (*text) {
		int length = (int)strcspn(text, " ");

		if (!empty && column + 1 + length > right) {
			putchar('\n');
			column = 0;
			empty = 1;
		}
		column += printf("%*s%.*s", empty ? indent - column : 1, "", length, text);
		empty = 0;
		text += length;
		text += strspn(text, " ");
	}
	putchar('\n');
}

static void print_option(const struct pp_opt *o, unsigned groups)
{
	const char *argument = pp_options_argument(o, groups), *variable = pp_options_variable(o, groups);
	const char *fallback = pp_options_default(o, groups);
	char text[LONG];
	int used = printf("%*s%s--%s%s%s", LEFT, "", o == &pp_opt_table[PP_OPT_ID_OUTPUT] ? "-o, " : "", o->name,
	                  *argument ? "=" : "", argument);

	snprintf(text, sizeof(text), "%s%s%s%s%s%s%s", pp_options_help(o, groups), *fallback || variable ? " (" : "",
	         *fallback ? "default " : "", fallback, *fallback && variable ? ", " : "", variable ? variable : "",
	         *fallback || variable ? ")" : "");
	pp_help_wrap(text, TEXT, used);
}

static void print_examples(const char *verb)
{
	const struct pp_help_example *e = pp_help_example(verb, NULL);

	if (e)
		puts("\nExamples:");
	for (; e; e = pp_help_example(verb, e)) {
		printf("%*s%s\n", LEFT, "", e->command);
		pp_help_wrap(e->meaning, EXAMPLE, 0);
	}
}

void pp_help_verb(const struct pp_options_verb *verb)
{
	int in = -1, headed = verb->command; /* other verbs have few options */
	char doc[LONG];

	printf("Usage: %s [OPTION...]%s%s\n\n", verb->name, *verb->arguments ? " " : "", verb->arguments);
	snprintf(doc, sizeof(doc), "%.*s", (int)strcspn(verb->doc, "\v"), verb->doc);
	pp_help_wrap(doc, 0, 0);
	print_examples(verb->name + strlen("podprof "));
	if (!headed)
		printf("\n%s\n", section[PP_OPT_PLAIN]);
	for (int i = 0; i < PP_OPTS; i++) {
		const struct pp_opt *o = &pp_opt_table[i];

		if (!(o->groups & verb->groups))
			continue;
		if (headed && (int)o->section != in)
			printf("\n%s\n", section[o->section]);
		in = (int)o->section;
		print_option(o, verb->groups);
	}
	if (headed)
		putchar('\n');
	pp_help_wrap("print this help", TEXT, printf("%*s-h, --help", LEFT, ""));
	if (strchr(verb->doc, '\v')) {
		putchar('\n');
		pp_help_wrap(strchr(verb->doc, '\v') + 1, 0, 0);
	}
}
