/* Options of a verb by glibc argp over the one option table; called by every cmd_*.c. */
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

enum { KEY_FIRST = 1000, NAME_MAX_LENGTH = 32, SECTIONS = 4 };

/* Headlines of --help, in their order; options of no section stand before them. */
static const char *const section[SECTIONS] = {NULL, "Recorded:", "Written:", "While the job runs:"};

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

struct parse {
	const struct pp_options_verb *verb;
	struct pp_options *options;
	int rest;
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

/* getopt's own sentences have no cure in them: look for unknown options and missing values before argp does. */
static int check_words(const struct pp_options_verb *verb, int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--"); i++) {
		const char *a = argv[i];
		size_t length = strcspn(a, "=");
		const struct pp_opt *o;

		if (a[0] != '-' || !a[1]) {
			if (verb->command)
				break;
			continue;
		}
		if (!strcmp(a, "-h") || !strcmp(a, "-?") || !strcmp(a, "--help"))
			break;
		if (a[1] == '-')
			o = find_row(verb, a + 2, length - 2);
		else
			o = a[1] == 'o' ? find_row(verb, "output", 6) : NULL;
		if (!o)
			return bad_option(verb, a, length);
		if (a[1] == '-' && a[length] && !*o->argument) {
			pp_say("option '--%s' takes no value: '%s'. Leave '%s' out.", o->name, a, a + length);
			return PP_EXIT_USAGE;
		}
		if (!*o->argument || (a[1] == '-' ? a[length] == '=' : a[2] != '\0'))
			continue;
		if (++i >= argc) {
			pp_say("option '--%s' has no value: give --%s=%s.", o->name, o->name, pp_options_argument(o, verb->groups));
			return PP_EXIT_USAGE;
		}
	}
	return -1;
}

/* NOLINTNEXTLINE(misc-no-recursion): once, -o is --output */
static error_t parse_one(int key, char *arg, struct argp_state *state)
{
	struct parse *p = state->input;

	if (key >= KEY_FIRST && key < KEY_FIRST + PP_OPTS) {
		p->options->value[key - KEY_FIRST] = arg ? arg : "1";
		p->options->source[key - KEY_FIRST] = PP_FROM_COMMAND_LINE;
		return 0;
	}
	if (key == 'o')
		return parse_one(KEY_FIRST + PP_OPT_ID_OUTPUT, arg, state);
	if (key == 'h') {
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
		return 0;
	}
	if (key == ARGP_KEY_ARG && p->verb->command) {
		p->rest = state->next - 1;
		state->next = state->argc;
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

/* A session is the name of two directories; everything else the table's own parsers know. */
static int check_value(int id, const char *value, unsigned groups, struct pp_err *err)
{
	int64_t steps = 0;

	if (id == PP_OPT_ID_STEPS && (groups & PP_OPT_CAPTURE)) /* a live job's steps are counted from now */
		return *value == '+' && !pp_parse_int(value + 1, &steps, NULL) && steps > 0
		               ? 0
		               : pp_err_set(err, -EINVAL,
		                            "option --steps: '%s' is not a number of steps to come. Give +N, as in +5", value);
	if (id == PP_OPT_ID_SESSION && (strchr(value, '/') || value[0] == '.'))
		return pp_err_set(err, -EINVAL, "option --session: '%s' cannot name a directory. Give a word without '/'", value);
	if (id == PP_OPT_ID_RENDEZVOUS && *value && *value != '/')
		return pp_err_set(err, -EINVAL, "option --rendezvous: '%s' is another directory on each host. Give it from / on",
		                  value);
	return pp_opt_check(&pp_opt_table[id], value, err);
}

static int section_of(int id)
{
	switch (id) {
	case PP_OPT_ID_STEPS:
	case PP_OPT_ID_EVERY:
	case PP_OPT_ID_DELAY:
	case PP_OPT_ID_DURATION:
	case PP_OPT_ID_AT:
	case PP_OPT_ID_SIGNAL:
	case PP_OPT_ID_RANKS:
	case PP_OPT_ID_KEEP:
	case PP_OPT_ID_TRIGGER:
	case PP_OPT_ID_LAST:
	case PP_OPT_ID_STEP_RULE:
	case PP_OPT_ID_WINDOW_BUFFER:
		return 1;
	case PP_OPT_ID_OUTPUT:
	case PP_OPT_ID_SESSION:
	case PP_OPT_ID_XSPACE:
		return 2;
	case PP_OPT_ID_RING_SIZE:
	case PP_OPT_ID_SPOOL:
	case PP_OPT_ID_WAIT:
	case PP_OPT_ID_PORT_RANGE:
	case PP_OPT_ID_RENDEZVOUS:
		return 3;
	default:
		return 0;
	}
}

/* argp's note on short options tells nobody anything about -o. */
static char *without_note(int key, const char *text, void *input)
{
	(void)input;
	return key == ARGP_KEY_HELP_DUP_ARGS_NOTE ? NULL : (char *)(uintptr_t)text;
}

/* Rows as argp wants them; the texts live as long as the program. */
static size_t make_rows(const struct pp_options_verb *verb, struct argp_option *row, char (*doc)[192])
{
	int headed[SECTIONS] = {1};
	size_t count = 0;

	for (int i = 0; i < PP_OPTS; i++) {
		const struct pp_opt *o = &pp_opt_table[i];
		const char *help = pp_options_help(o, verb->groups);
		int in = verb->groups == PP_OPT_DOCTOR ? 0 : section_of(i); /* five options need no headlines */

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
	row[count++] = (struct argp_option){.name = "help", .key = 'h', .doc = "print this", .group = SECTIONS + 1};
	row[count++] = (struct argp_option){0};
	return count;
}

int pp_options_parse(const struct pp_options_verb *verb, int argc, char **argv, struct pp_options *ret_options, int *ret_rest)
{
	static char doc[PP_OPTS][192];
	static char name[64];
	struct argp_option row[PP_OPTS + SECTIONS + 2];
	struct argp argp = {
	        .options = row, .parser = parse_one, .args_doc = verb->arguments, .doc = verb->doc, .help_filter = without_note};
	struct parse p = {.verb = verb, .options = ret_options, .rest = -1};
	struct pp_err err;
	int rest = 0, rc = check_words(verb, argc, argv);

	if (rc >= 0)
		return rc;
	for (int i = 0; i < PP_OPTS; i++) {
		ret_options->value[i] = pp_opt_table[i].fallback;
		ret_options->source[i] = PP_FROM_DEFAULT;
	}
	make_rows(verb, row, doc);
	snprintf(name, sizeof(name), "%s", verb->name);
	argv[0] = name;
	rc = argp_parse(&argp, argc, argv, ARGP_NO_HELP | (verb->command ? ARGP_IN_ORDER : 0), &rest, &p);
	if (rc) {
		pp_say("cannot read the command line: %s. Nothing was started.", pp_why(rc));
		return PP_EXIT_USAGE;
	}
	*ret_rest = p.rest >= 0 ? p.rest : rest;
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
