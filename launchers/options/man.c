/* podprof man DIR: writes podprof.1 and a page a verb, from the table of verbs, the option table and man_text.def.
 * The build calls it. */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "core/base/why.h"
#include "launchers/cmd.h"
#include "launchers/options/help.h"
#include "launchers/options/say.h"
#include "launchers/options/verbs.h"

enum { COLUMNS = 76 };

/* One word, so that neither roff nor the reader's terminal changes it: a typed '-' stays the ASCII one. */
static int put_word(FILE *f, const char *word, size_t length, int column)
{
	int typed = word[0] == '-' || memmem(word, length, "--", 2) != NULL;

	if (!column && (word[0] == '.' || word[0] == '\''))
		fputs("\\&", f);
	for (size_t i = 0; i < length; i++) {
		if (word[i] == '\\')
			fputs("\\e", f);
		else if (word[i] == '\'')
			fputs("\\(aq", f);
		else if (word[i] == '`')
			fputs("\\(ga", f);
		else if (word[i] == '-' && typed)
			fputs("\\-", f);
		else
			fputc(word[i], f);
	}
	return column + (int)length;
}

/* Prose: wrapped, every sentence on a line of its own, as roff wants it. Ends with a line break. */
static void prose(FILE *f, const char *text)
{
	int column = 0;

	while (*text) {
		size_t length = strcspn(text, " \v\n");
		int new_line = length && strchr(".?!", text[length - 1]);

		if (column && column + (int)length + 1 > COLUMNS) {
			fputc('\n', f);
			column = 0;
		}
		if (length && column) {
			fputc(' ', f);
			column++;
		}
		if (length)
			column = put_word(f, text, length, column);
		text += length;
		if (column && (new_line || *text == '\v')) {
			fputc('\n', f);
			column = 0;
		}
		text += *text != '\0';
	}
	if (column)
		fputc('\n', f);
}

/* A line of literal text: a command, a path. */
static void literal(FILE *f, const char *text)
{
	if (*text == '.' || *text == '\'')
		fputs("\\&", f);
	for (; *text; text++) {
		if (*text == '\\')
			fputs("\\e", f);
		else if (*text == '-')
			fputs("\\-", f);
		else if (*text == '\'')
			fputs("\\(aq", f);
		else if (*text == '~')
			fputs("\\(ti", f);
		else
			fputc(*text, f);
	}
}

/* "[--] CMD [ARG...]": what the user replaces is in italics, what is typed in bold. */
static void synopsis_words(FILE *f, const char *text)
{
	while (*text) {
		if (isupper((unsigned char)*text)) {
			size_t length = 0;

			while (isupper((unsigned char)text[length]))
				length++;
			fprintf(f, "\\fI%.*s\\fR", (int)length, text);
			text += length;
		} else {
			fputs(*text == '-' ? "\\-" : (char[]){*text, '\0'}, f);
			text++;
		}
	}
}

static void title(FILE *f, const char *page, const char *what)
{
	fputs(".\\\" Made by 'podprof man' from its tables; do not edit.\n.TH ", f);
	for (const char *c = page; *c; c++)
		fputc(toupper((unsigned char)*c), f);
	fprintf(f, " 1 %s \"podprof %s\" \"podprof\"\n.nh\n.ad l\n.SH NAME\n%s \\- %s\n", PODPROF_DATE, PODPROF_VERSION, page,
	        what);
}

static void put_options(FILE *f, unsigned groups)
{
	for (int i = 0; i < PP_OPTS; i++) {
		const struct pp_opt *o = &pp_opt_table[i];

		if (!(o->groups & groups))
			continue;
		fputs(".TP\n\\fB", f);
		if (i == PP_OPT_ID_OUTPUT)
			fputs("\\-o\\fR, \\fB", f);
		fputs("\\-\\-", f);
		literal(f, o->name);
		if (*o->argument) {
			fputs("\\fR=\\fI", f);
			literal(f, pp_options_argument(o, groups));
		}
		fputs("\\fR\n", f);
		prose(f, pp_options_help(o, groups));
		if (*pp_options_default(o, groups) || pp_options_variable(o, groups))
			fputs(".br\n", f);
		if (*pp_options_default(o, groups))
			fprintf(f, "Default: %s.\n", pp_options_default(o, groups));
		if (pp_options_variable(o, groups))
			fprintf(f, "Variable: \\fB%s\\fR.\n", o->env);
	}
	fputs(".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nprint the options on one screen.\n", f);
}

static void put_pair(FILE *f, const char *bold, const char *meaning)
{
	fputs(".TP\n\\fB", f);
	literal(f, bold);
	fputs("\\fR\n", f);
	prose(f, meaning);
}

static void put_exits(FILE *f, const char *verb)
{
	static const struct {
		const char *verb, *code, *meaning;
	} rows[] = {
#define PP_EXIT(verb, code, meaning) {verb, code, meaning},
#include "launchers/options/man_text.def"
	};

	fputs(".SH EXIT STATUS\n", f);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (!strcmp(rows[i].verb, verb))
			put_pair(f, rows[i].code, rows[i].meaning);
}

static void put_examples(FILE *f, const char *verb)
{
	fputs(".SH EXAMPLES\n", f);
	for (const struct pp_help_example *e = pp_help_example(verb, NULL); e; e = pp_help_example(verb, e))
		put_pair(f, e->command, e->meaning);
}

static void put_files(FILE *f)
{
	fputs(".SH FILES\n", f);
#define PP_FILE(path, meaning) put_pair(f, path, meaning);
#include "launchers/options/man_text.def"
	fputs(".PP\nFiles of a session are written under another name, synced and renamed:\nno file is ever incomplete.\n", f);
}

static void put_see_also(FILE *f, const char *page)
{
	int printed = 0;

	fputs(".SH SEE ALSO\n", f);
	if (strcmp(page, "podprof"))
		printed = fprintf(f, ".BR podprof (1)") > 0;
	for (int i = 0; i < PP_VERBS; i++) {
		if (!pp_verbs[i].what || (!strncmp(page, "podprof-", 8) && !strcmp(page + 8, pp_verbs[i].name)))
			continue;
		fprintf(f, "%s.BR podprof\\-%s (1)", printed ? ",\n" : "", pp_verbs[i].name);
		printed = 1;
	}
	fputc('\n', f);
}

/* Lists variables that are no options; those of options stand with their option. */
static void put_environment(FILE *f)
{
	static const struct {
		const char *name, *help;
	} rows[] = {
#define PP_VARIABLE(name, help) {name, help},
#include "launchers/options/man_text.def"
	};

	fputs(".SH ENVIRONMENT\n", f);
	prose(f,
	      "Each option of podprof run may also be set by the variable that its page names, for example PODPROF_STEPS=10:20. "
	      "The command line overrides the variable, and the variable overrides the default. A wrong value, and an unknown name "
	      "that begins with PODPROF_, is reported once and ignored.");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].help)
			put_pair(f, rows[i].name, rows[i].help);
}

static void main_page(FILE *f)
{
	title(f, "podprof", "profiler for whole training jobs");
	fputs(".SH SYNOPSIS\n\\fBpodprof\\fR \\fIVERB\\fR [\\fIOPTION\\fR...] [\\fIARGUMENT\\fR...]\n.SH DESCRIPTION\n", f);
	prose(f,
	      "podprof records every rank of a job over the same steps and names the bottleneck in one sentence, with evidence and "
	      "known data problems. The job needs no change and no relinking. The collector, a library inside each rank, records; "
	      "the keeper, one process per job and host, analyses and writes.");
	fputs(".PP\n", f);
	prose(f, "MPI calls, NVTX3 ranges and ITT ranges are recorded without a change. To mark steps, include podprof.h; there is "
	         "nothing to link.");
	fputs(".SH VERBS\n", f);
	for (int i = 0; i < PP_VERBS; i++)
		if (pp_verbs[i].what)
			put_pair(f, pp_verbs[i].name, pp_verbs[i].what);
	fputs(".SH OPTIONS\n.TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nprint verbs and options.\n"
	      ".TP\n\\fB\\-V\\fR, \\fB\\-\\-version\\fR\nprint the version.\n",
	      f);
	put_environment(f);
	put_files(f);
	put_exits(f, "");
	put_examples(f, "");
	put_see_also(f, "podprof");
}

static void verb_page(FILE *f, const struct pp_verb *verb)
{
	const struct pp_options_verb *o = verb->options;
	char page[64];

	snprintf(page, sizeof(page), "podprof-%s", verb->name);
	title(f, page, verb->what);
	fprintf(f, ".SH SYNOPSIS\n\\fBpodprof %s\\fR [\\fIOPTION\\fR...]%s", verb->name, *o->arguments ? " " : "");
	synopsis_words(f, o->arguments);
	fputs("\n.SH DESCRIPTION\n", f);
	prose(f, o->doc);
	fputs(".SH OPTIONS\n", f);
	put_options(f, o->groups);
	put_exits(f, verb->name);
	put_examples(f, verb->name);
	put_see_also(f, page);
}

static int write_page(const char *directory, const struct pp_verb *verb)
{
	char path[PATH_MAX];
	FILE *f;

	if (snprintf(path, sizeof(path), "%s/podprof%s%s.1", directory, verb ? "-" : "", verb ? verb->name : "") >=
	    (int)sizeof(path))
		return -ENAMETOOLONG;
	f = fopen(path, "we");
	if (!f)
		return -errno;
	if (verb)
		verb_page(f, verb);
	else
		main_page(f);
	return fclose(f) ? -errno : 0;
}

int pp_cmd_man(int argc, char **argv)
{
	int rc;

	if (argc != 2) {
		pp_say("man takes the directory that gets the pages: 'podprof man DIR'.");
		return PP_EXIT_USAGE;
	}
	rc = write_page(argv[1], NULL);
	for (int i = 0; !rc && i < PP_VERBS; i++)
		if (pp_verbs[i].what)
			rc = write_page(argv[1], &pp_verbs[i]);
	if (rc)
		pp_say("cannot write the pages to '%s': %s. Give a directory that exists.", argv[1], pp_why(-rc));
	return rc ? PP_EXIT_FAILED : PP_EXIT_OK;
}
