/* Parses a verb's options by the option table. Called by every cmd_*.c. */
#include "launchers/options/options.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/parse.h"
#include "launchers/cmd.h"
#include "launchers/options/help.h"
#include "launchers/options/say.h"

extern char **environ;

enum { NAME_MAX_LENGTH = 32, PREFIX = sizeof("PODPROF_") - 1 };

/* Variables that podprof's own parts set or read and that are no options. */
static const char *const inner_variables[] = {
#define PP_VARIABLE(name, help) name,
#include "launchers/options/man_text.def"
};

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

/* Changes up to which a word is taken for a mistyped name, by the length of the shorter one. Two letters in wrong order are two. */
static int most(size_t word, size_t name)
{
	size_t n = word < name ? word : name;

	return n < 3 ? 1 : n < 8 ? 2 : 3;
}

const char *pp_nearest(const char *word, const char *const *names, size_t count)
{
	size_t length = strlen(word);
	const char *best = NULL;
	int least = NAME_MAX_LENGTH;

	for (size_t i = 0; i < count; i++) {
		int d = distance(word, names[i]);

		if (length >= 3 && !strncmp(word, names[i], length))
			d = 1;
		if (d > 1 && word[0] != names[i][0]) /* FOO is no TOOL */
			continue;
		if (d < least && d <= most(length, strlen(names[i]))) {
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
	static const char *const name[] = {"run",    "report", "salvage", "doctor", "status", "capture", "analyze",
	                                   "export", "view",   "diff",    "fleet",  "hang",   "slurm"}; /* enum pp_opt_groups */

	return groups ? name[__builtin_ctz(groups)] : NULL;
}

/* What an error line ends with: a verb that starts a job has not done so. */
static const char *not_started(const struct pp_options_verb *verb)
{
	return verb->command ? " Nothing was started." : "";
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
		pp_say("unknown option '%.*s': it belongs to 'podprof %s', not to '%s'.%s Type '%s --help'.", (int)length, text,
		       other, verb->name, not_started(verb), verb->name);
		return PP_EXIT_USAGE;
	}
	if (length > 2 && length - 2 <= NAME_MAX_LENGTH) {
		snprintf(word, sizeof(word), "%.*s", (int)(length - 2), text + 2);
		near = pp_nearest(word, names, count);
	}
	if (near)
		pp_say("unknown option '%.*s': did you mean '--%s'?%s", (int)length, text, near, not_started(verb));
	else
		pp_say("unknown option '%.*s'.%s '%s --help' lists all options.", (int)length, text, not_started(verb), verb->name);
	return PP_EXIT_USAGE;
}

/* Parses `value` into the option's place, and checks what its row does not: a session is the name of two directories. */
static int set(struct pp_options *options, int id, const char *value, unsigned groups, struct pp_err *err)
{
	int64_t steps = 0;

	if (id == PP_OPT_ID_STEPS && (groups & PP_OPT_CAPTURE)) { /* for a live job steps count from now */
		if (*value != '+' || pp_parse_int(value + 1, &steps, NULL) || steps <= 0)
			return pp_err_set(err, -EINVAL,
			                  "option --steps: '%s' is not a number of steps to come. Give +N, for example +5", value);
		options->verb.steps_to_come = steps;
		return 0;
	}
	if (id == PP_OPT_ID_SESSION && (strchr(value, '/') || value[0] == '.'))
		return pp_err_set(err, -EINVAL, "option --session: '%s' cannot name a directory. Give a word without '/'", value);
	if (id == PP_OPT_ID_RENDEZVOUS && *value && *value != '/')
		return pp_err_set(
		        err, -EINVAL,
		        "option --rendezvous: '%s' is a relative path, which differs between hosts. Give an absolute path", value);
	if (!pp_opt_set(&pp_opt_table[id], value, &options->job, &options->verb, err))
		return 0;
	return id == PP_OPT_ID_FORMAT /* a verb may take fewer words than its row has */
	               ? pp_err_set(err, -EINVAL, "option --format: '%s' is not one of %s", value,
	                            pp_options_argument(&pp_opt_table[id], groups))
	               : -EINVAL;
}

void pp_options_reset(struct pp_options *options, enum pp_opt_id id)
{
	options->text[id] = pp_opt_table[id].fallback;
	pp_opt_set(&pp_opt_table[id], options->text[id], &options->job, &options->verb, NULL);
}

void pp_options_init(struct pp_options *options)
{
	memset(options, 0, sizeof(*options));
	for (int i = 0; i < PP_OPTS; i++)
		pp_options_reset(options, (enum pp_opt_id)i);
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
		pp_say("option '--%s' takes no value: '%s'. Remove '%s'.", o->name, a, a + length);
		return PP_EXIT_USAGE;
	}
	if (!*o->argument)
		value = "1";
	else if (is_long && a[length])
		value = a + length + 1;
	else if (!is_long && a[2])
		value = a + 2;
	else if (*at + 1 < argc && strcmp(argv[*at + 1], "--") != 0) /* behind "--" is the command */
		value = argv[++*at];
	if (!value) {
		pp_say("option '--%s' needs a value. Give --%s=%s.", o->name, o->name, pp_options_argument(o, verb->groups));
		return PP_EXIT_USAGE;
	}
	options->text[o - pp_opt_table] = value;
	options->source[o - pp_opt_table] = PP_FROM_COMMAND_LINE;
	return -1;
}

int pp_options_parse(const struct pp_options_verb *verb, int argc, char **argv, struct pp_options *ret_options, int *ret_rest)
{
	struct pp_err err;
	int at, words = 0, rc;

	pp_options_init(ret_options);
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
			pp_help_verb(verb);
			return PP_EXIT_OK;
		}
		rc = read_option(verb, argc, argv, &at, ret_options);
		if (rc >= 0)
			return rc;
	}
	*ret_rest = at - words;
	memmove(&argv[*ret_rest], &argv[1], (size_t)words * sizeof(*argv));
	for (int i = 0; i < PP_OPTS; i++) {
		if (ret_options->source[i] != PP_FROM_COMMAND_LINE ||
		    !set(ret_options, i, ret_options->text[i], verb->groups, &err))
			continue;
		pp_say("%s.%s", err.text, not_started(verb));
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

static void warn_unknown(const char *name, void (*warn)(const char *sentence))
{
	const char *names[PP_OPTS];
	char text[512];
	const char *near;

	for (int i = 0; i < PP_OPTS; i++)
		names[i] = pp_opt_table[i].env + PREFIX;
	near = pp_nearest(name + PREFIX, names, PP_OPTS); /* the common prefix says nothing */
	if (near)
		snprintf(text, sizeof(text), "unknown environment variable '%s': ignored. Did you mean PODPROF_%s?", name, near);
	else
		snprintf(text, sizeof(text),
		         "unknown environment variable '%s': ignored. 'podprof run --help' lists the variables.", name);
	warn(text);
}

void pp_options_environment(struct pp_options *options, unsigned groups, void (*warn)(const char *sentence))
{
	char text[sizeof(struct pp_err) + 128];
	struct pp_err err;

	for (int i = 0; i < PP_OPTS; i++) {
		const struct pp_opt *o = &pp_opt_table[i];
		const char *value = getenv(o->env);

		if (!(o->groups & groups) || !value || !*value || options->source[i] != PP_FROM_DEFAULT)
			continue;
		if (!set(options, i, value, groups, &err)) {
			options->text[i] = value;
			options->source[i] = PP_FROM_ENVIRONMENT;
		} else if (warn) {
			snprintf(text, sizeof(text), "environment variable %s is ignored: %s.", o->env, err.text);
			warn(text);
		}
	}
	for (char **e = environ; warn && e && *e; e++) {
		char name[64];
		size_t length = strcspn(*e, "=");

		if (strncmp(*e, "PODPROF_", PREFIX) || length >= sizeof(name))
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)length, *e);
		if (!pp_opt_find_env(name) && !inner_variable(name))
			warn_unknown(name, warn);
	}
}
