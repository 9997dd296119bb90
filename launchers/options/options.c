/* Parses a verb's options by the option table; glibc's argp formats the help. Called by every cmd_*.c. */
#include "launchers/options/options.h"

#include <argp.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/parse.h"
#include "launchers/cmd.h"

extern char **environ;

enum { KEY_FIRST = 1000, NAME_MAX_LENGTH = 32 };

/* Headlines of --help, in their order; options of no section stand before them. */
static const char *const section[PP_OPT_SECTIONS] = {NULL, "Recorded:", "Written:", "While the job runs:"};

/* Variables that podprof's own parts set or read and that are no options. */
static const char *const inner_variables[] = {
#define PP_VARIABLE(name, help) name,
#include "launchers/options/man_text.def"
};

static const struct words {
	enum pp_opt_id id;
	unsigned group;
	const char *argument, *help;
} verb_words[] = {
#define PP_OPT_WORDS(option, group, argument, help) {PP_OPT_ID_##option, PP_OPT_##group, argument, help},
#include "launchers/options/opt_words.def"
#undef PP_OPT_WORDS
};

static const struct words *words_of(const struct pp_opt *opt, unsigned groups)
{
	for (size_t i = 0; i < sizeof(verb_words) / sizeof(verb_words[0]); i++)
		if (opt == &pp_opt_table[verb_words[i].id] && groups == verb_words[i].group)
			return &verb_words[i];
	return NULL;
}

const char *pp_options_argument(const struct pp_opt *opt, unsigned groups)
{
	const struct words *w = words_of(opt, groups);

	return w ? w->argument : opt->argument;
}

const char *pp_options_help(const struct pp_opt *opt, unsigned groups)
{
	const struct words *w = words_of(opt, groups);

	return w ? w->help : opt->help;
}

static int distance(const char *a, const char *b)
{
	size_t n = strlen(a), m = strlen(b);
	int row[NAME_MAX_LENGTH + 1];

	if (n > NAME_MAX_LENGTH || m > NAME_MAX_LENGTH)
		return NAME_MAX_LENGTH;
	for (size_t j = 0; j <= m; j++)
		row[j] = (int)j;
	for (size_t i = 1; i <= n; i++) {
		int diagonal = row[0];

		row[0] = (int)i;
		for (size_t j = 1; j <= m; j++) {
			int change = diagonal + (a[i - 1] != b[j - 1]);
			int least = row[j] < row[j - 1] ? row[j] + 1 : row[j - 1] + 1;

			diagonal = row[j];
			row[j] = change < least ? change : least;
		}
	}
	return row[m];
}

const char *pp_nearest(const char *word, const char *const *names, size_t count)
{
	const char *best = NULL;
	int least = NAME_MAX_LENGTH;

	for (size_t i = 0; i < count; i++) {
		size_t length = strlen(word);
		int d = distance(word, names[i]);

		if (length >= 3 && !strncmp(word, names[i], length))
			d = 1;
		if (d < least && d <= 1 + (int)strlen(names[i]) / 3) {
			least = d;
			best = names[i];
		}
	}
	return best;
}

static const struct pp_opt *find_row(const struct pp_options_verb *verb, const char *name, size_t length)
{
	const struct pp_opt *prefix = NULL;
	int found = 0;

	for (int i = 0; i < PP_OPTS; i++) {
		const struct pp_opt *o = &pp_opt_table[i];

		if (!(o->groups & verb->groups) || strncmp(o->name, name, length))
			continue;
		if (!o->name[length])
			return o;
		prefix = o;
		found++;
	}
	return found == 1 ? prefix : NULL;
}

/* The first verb that takes such options. */
static const char *verb_with(unsigned groups)
{
	static const char *const name[] = {"run", "report", "salvage", "doctor", "status", "capture"}; /* enum pp_opt_groups */

	return groups ? name[__builtin_ctz(groups)] : NULL;
}

static int bad_option(const struct pp_options_verb *verb, const char *text, size_t length)
{
	const char *names[PP_OPTS];
	char word[NAME_MAX_LENGTH + 1];
	size_t count = 0;
	const char *near = NULL, *other = NULL;

	for (int i = 0; i < PP_OPTS; i++)
		if (pp_opt_table[i].groups & verb->groups)
			names[count++] = pp_opt_table[i].name;
		else if (length == 2 + strlen(pp_opt_table[i].name) && !strncmp(text + 2, pp_opt_table[i].name, length - 2))
			other = verb_with(pp_opt_table[i].groups);
	if (other) {
		pp_say("option '%.*s' is one of 'podprof %s', not of '%s': nothing was started. Type '%s --help' for its own.",
		       (int)length, text, other, verb->name, verb->name);
		return PP_EXIT_USAGE;
	}
	if (length > 2 && length - 2 <= NAME_MAX_LENGTH) {
		snprintf(word, sizeof(word), "%.*s", (int)(length - 2), text + 2);
		near = pp_nearest(word, names, count);
	}
	if (near)
		pp_say("unknown option '%.*s': did you mean '--%s'? Nothing was started.", (int)length, text, near);
	else
		pp_say("unknown option '%.*s': nothing was started. Type '%s --help' for all of them.", (int)length, text,
		       verb->name);
	return PP_EXIT_USAGE;
}

/* Checks what the rows do not: a session is the name of two directories. */
static int check_value(int id, const char *value, unsigned groups, struct pp_err *err)
{
	int64_t steps = 0;

	if (id == PP_OPT_ID_STEPS && (groups & PP_OPT_CAPTURE)) /* for a live job steps count from now */
		return *value == '+' && !pp_parse_int(value + 1, &steps, NULL) && steps > 0
		               ? 0
		               : pp_err_set(err, -EINVAL,
		                            "option --steps: '%s' is not a number of steps to come. Give +N, as in +5", value);
	if (id == PP_OPT_ID_SESSION && (strchr(value, '/') || value[0] == '.'))
		return pp_err_set(err, -EINVAL, "option --session: '%s' cannot name a directory. Give a word without '/'", value);
	if (id == PP_OPT_ID_RENDEZVOUS && *value && *value != '/')
		return pp_err_set(err, -EINVAL, "option --rendezvous: '%s' is another directory on each host. Give it from / on",
		                  value);
	return pp_opt_set(NULL, &pp_opt_table[id], value, err);
}

/* Drops argp's note on short options: -o is the only one. */
static char *without_note(int key, const char *text, void *input)
{
	(void)input;
	return key == ARGP_KEY_HELP_DUP_ARGS_NOTE ? NULL : (char *)(uintptr_t)text;
}

/* Makes rows for argp; the texts live as long as the program. */
static size_t make_rows(const struct pp_options_verb *verb, struct argp_option *row, char (*doc)[192])
{
	int headed[PP_OPT_SECTIONS] = {1};
	size_t count = 0;

	for (int i = 0; i < PP_OPTS; i++) {
		const struct pp_opt *o = &pp_opt_table[i];
		const char *help = pp_options_help(o, verb->groups);
		int in = verb->groups == PP_OPT_DOCTOR ? 0 : (int)o->section; /* no headlines for five options */

		if (!(o->groups & verb->groups))
			continue;
		if (!headed[in]++)
			row[count++] = (struct argp_option){.doc = section[in], .group = in + 1};
		if (*o->fallback)
			snprintf(doc[i], sizeof(doc[i]), "%s (default %s)", help, o->fallback);
		else
			snprintf(doc[i], sizeof(doc[i]), "%s", help);
		row[count++] = (struct argp_option){.name = o->name,
		                                    .key = i == PP_OPT_ID_OUTPUT ? 'o' : KEY_FIRST + i,
		                                    .arg = *o->argument ? pp_options_argument(o, verb->groups) : NULL,
		                                    .doc = doc[i],
		                                    .group = in + 1};
	}
	row[count++] = (struct argp_option){.name = "help", .key = 'h', .doc = "print this", .group = PP_OPT_SECTIONS + 1};
	row[count++] = (struct argp_option){0};
	return count;
}

/* argp_help() asks no help_filter: argp gets "-h" to read. */
/* NOLINTNEXTLINE(readability-non-const-parameter): argp's type of a parser */
static error_t show(int key, char *arg, struct argp_state *state)
{
	(void)arg;
	if (key == 'h')
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP & ~ARGP_HELP_EXIT_OK);
	return 0;
}

static void print_help(const struct pp_options_verb *verb)
{
	static char doc[PP_OPTS][192];
	struct argp_option row[PP_OPTS + PP_OPT_SECTIONS + 2];
	struct argp argp = {
	        .options = row, .parser = show, .args_doc = verb->arguments, .doc = verb->doc, .help_filter = without_note};
	char name[64], help[] = "-h", *words[] = {name, help, NULL};

	make_rows(verb, row, doc);
	snprintf(name, sizeof(name), "%s", verb->name);
	argp_parse(&argp, 2, words, ARGP_NO_HELP, NULL, NULL);
}

/* One option at argv[*at], which becomes the place of its last word. -1: go on, else the exit code. */
static int read_option(const struct pp_options_verb *verb, int argc, char **argv, int *at, struct pp_options *options)
{
	const char *a = argv[*at], *value = NULL;
	int is_long = a[1] == '-';
	size_t length = strcspn(a, "=");
	const struct pp_opt *o;

	if (is_long)
		o = find_row(verb, a + 2, length - 2);
	else
		o = a[1] == 'o' ? find_row(verb, "output", 6) : NULL;
	if (!o)
		return bad_option(verb, a, length);
	if (is_long && a[length] && !*o->argument) {
		pp_say("option '--%s' takes no value: '%s'. Leave '%s' out.", o->name, a, a + length);
		return PP_EXIT_USAGE;
	}
	if (!*o->argument)
		value = "1";
	else if (is_long && a[length])
		value = a + length + 1;
	else if (!is_long && a[2])
		value = a + 2;
	else if (*at + 1 < argc)
		value = argv[++*at];
	if (!value) {
		pp_say("option '--%s' has no value: give --%s=%s.", o->name, o->name, pp_options_argument(o, verb->groups));
		return PP_EXIT_USAGE;
	}
	options->value[o - pp_opt_table] = value;
	options->source[o - pp_opt_table] = PP_FROM_COMMAND_LINE;
	return -1;
}

int pp_options_parse(const struct pp_options_verb *verb, int argc, char **argv, struct pp_options *ret_options, int *ret_rest)
{
	struct pp_err err;
	int at, words = 0, rc;

	for (int i = 0; i < PP_OPTS; i++) {
		ret_options->value[i] = pp_opt_table[i].fallback;
		ret_options->source[i] = PP_FROM_DEFAULT;
	}
	for (at = 1; at < argc; at++) {
		char *a = argv[at];

		if (a[0] != '-' || !a[1]) {
			if (verb->command)
				break;
			argv[1 + words++] = a; /* over an option that has been read */
			continue;
		}
		if (!strcmp(a, "--")) {
			at++;
			break;
		}
		if (!strcmp(a, "-h") || !strcmp(a, "-?") || !strcmp(a, "--help")) {
			print_help(verb);
			return PP_EXIT_OK;
		}
		rc = read_option(verb, argc, argv, &at, ret_options);
		if (rc >= 0)
			return rc;
	}
	*ret_rest = at - words;
	memmove(&argv[*ret_rest], &argv[1], (size_t)words * sizeof(*argv));
	for (int i = 0; i < PP_OPTS; i++) {
		if (ret_options->source[i] != PP_FROM_COMMAND_LINE || !check_value(i, ret_options->value[i], verb->groups, &err))
			continue;
		pp_say("%s. Nothing was started.", err.text);
		return PP_EXIT_USAGE;
	}
	return -1;
}

static int inner_variable(const char *name)
{
	for (size_t i = 0; i < sizeof(inner_variables) / sizeof(inner_variables[0]); i++)
		if (!strcmp(inner_variables[i], name))
			return 1;
	return 0;
}

static void tell_unknown(const char *name, void (*tell)(const char *sentence))
{
	const char *names[PP_OPTS];
	char text[512];
	const char *near;

	for (int i = 0; i < PP_OPTS; i++)
		names[i] = pp_opt_table[i].env;
	near = pp_nearest(name, names, PP_OPTS);
	snprintf(text, sizeof(text), "unknown environment variable '%s': ignored.%s%s%s", name, near ? " Did you mean " : "",
	         near ? near : "", near ? "?" : " 'podprof --help' lists all of them.");
	tell(text);
}

void pp_options_environment(struct pp_options *options, unsigned groups, void (*tell)(const char *sentence))
{
	char text[sizeof(struct pp_err) + 128];
	struct pp_err err;

	for (int i = 0; i < PP_OPTS; i++) {
		const struct pp_opt *o = &pp_opt_table[i];
		const char *value = getenv(o->env);

		if (!(o->groups & groups) || !value || !*value || options->source[i] != PP_FROM_DEFAULT)
			continue;
		if (!check_value(i, value, groups, &err)) {
			options->value[i] = value;
			options->source[i] = PP_FROM_ENVIRONMENT;
		} else if (tell) {
			snprintf(text, sizeof(text), "environment variable %s is ignored: %s.", o->env, err.text);
			tell(text);
		}
	}
	for (char **e = environ; tell && e && *e; e++) {
		char name[64];
		size_t length = strcspn(*e, "=");

		if (strncmp(*e, "PODPROF_", 8) || length >= sizeof(name))
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)length, *e);
		if (!pp_opt_find_env(name) && !inner_variable(name))
			tell_unknown(name, tell);
	}
}
