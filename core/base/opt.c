/* The option table; used by launchers, keeper and collector. */
#include "core/base/opt.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/parse.h"

enum { MOST_BYTES = 4096, MOST_PERCENT = 100000 }; /* of a destination; of a percentage */

/* The row's argument lists words between bars; the value is the index of one of them. */
static int parse_word(const struct pp_opt *opt, const char *value, void *to, struct pp_err *err)
{
	const char *word = opt->argument;
	size_t length = strlen(value);

	for (int i = 0; word; i++) {
		const char *bar = strchr(word, '|');
		size_t n = bar ? (size_t)(bar - word) : strlen(word);

		if (n == length && !strncmp(word, value, n)) {
			*(int *)to = i;
			return 0;
		}
		word = bar ? bar + 1 : NULL;
	}
	return pp_err_set(err, -EINVAL, "'%s' is not one of %s", value, opt->argument);
}

static int copy(const struct pp_opt *opt, const char *value, char *to)
{
	snprintf(to, opt->size ? opt->size : MOST_BYTES, "%s", value);
	return 0;
}

static int parse_text(const struct pp_opt *opt, const char *value, void *to, struct pp_err *err)
{
	return strchr(value, '\n') ? pp_err_set(err, -EINVAL, "a line break is not allowed") : copy(opt, value, to);
}

static int parse_borrowed(const struct pp_opt *opt, const char *value, void *to, struct pp_err *err)
{
	(void)opt;
	*(const char **)to = value;
	return strchr(value, '\n') ? pp_err_set(err, -EINVAL, "a line break is not allowed") : 0;
}

static int parse_flag(const struct pp_opt *opt, const char *value, void *to, struct pp_err *err)
{
	(void)opt;
	*(int *)to = !strcmp(value, "1");
	return strcmp(value, "0") && strcmp(value, "1") ? pp_err_set(err, -EINVAL, "'%s' is neither 0 nor 1", value) : 0;
}

/* A type that has a parser of its own. */
#define PARSE(type, parse)                                                                                                         \
	static int parse_##type(const struct pp_opt *opt, const char *value, void *to, struct pp_err *err)                         \
	{                                                                                                                          \
		(void)opt;                                                                                                         \
		return parse(value, to, err);                                                                                      \
	}
PARSE(int, pp_parse_int)
PARSE(bytes, pp_parse_bytes)
PARSE(windows, pp_step_windows_parse)
PARSE(time, pp_parse_time)
PARSE(level, pp_parse_level)

static int parse_time_text(const struct pp_opt *opt, const char *value, void *to, struct pp_err *err)
{
	struct pp_opt_time *time = to;

	(void)opt;
	snprintf(time->text, sizeof(time->text), "%s", value);
	return pp_parse_time(value, &time->ns, err);
}

static int parse_ports(const struct pp_opt *opt, const char *value, void *to, struct pp_err *err)
{
	struct pp_opt_ports *port = to;

	(void)opt;
	return pp_parse_ports(value, &port->first, &port->last, err);
}

static int parse_slow(const struct pp_opt *opt, const char *value, void *to, struct pp_err *err)
{
	struct pp_opt_slow *slow = to;

	(void)opt;
	snprintf(slow->text, sizeof(slow->text), "%s", value);
	return pp_parse_slow(value, &slow->thousandths, err);
}

static int parse_ranks(const struct pp_opt *opt, const char *value, void *to, struct pp_err *err)
{
	struct pp_opt_ranks *ranks = to;

	(void)opt;
	snprintf(ranks->text, sizeof(ranks->text), "%s", value);
	return pp_rank_list_parse(value, &ranks->list, err);
}

/* "5%" or "5" */
static int parse_percent(const struct pp_opt *opt, const char *value, void *to, struct pp_err *err)
{
	char *end;
	double percent = strtod(value, &end);

	(void)opt;
	if (end == value || value[0] == ' ' || (*end && strcmp(end, "%") != 0) || !isfinite(percent) || percent < 0 ||
	    percent > MOST_PERCENT)
		return pp_err_set(err, -EINVAL, "'%s' is no percentage. Give a part of A's step time, for example --fail-above 5%%",
		                  value);
	*(double *)to = percent;
	return 0;
}

#define RUN PP_OPT_RUN
#define REPORT PP_OPT_REPORT
#define SALVAGE PP_OPT_SALVAGE
#define DOCTOR PP_OPT_DOCTOR
#define STATUS PP_OPT_STATUS
#define CAPTURE PP_OPT_CAPTURE
#define ANALYZE PP_OPT_ANALYZE
#define EXPORT PP_OPT_EXPORT
#define VIEW PP_OPT_VIEW
#define DIFF PP_OPT_DIFF
#define FLEET PP_OPT_FLEET
#define HANG PP_OPT_HANG
#define SLURM PP_OPT_SLURM
#define TO(member) PP_OPT_OF_JOB, offsetof(struct pp_settings, member), sizeof(((struct pp_settings *)NULL)->member)
#define VERB(member) PP_OPT_OF_VERB, offsetof(struct pp_verb_settings, member), sizeof(((struct pp_verb_settings *)NULL)->member)
#define COLLECTOR PP_OPT_CHECKED, 0, 0

const struct pp_opt pp_opt_table[PP_OPTS] = {
#define PP_OPT(name, symbol, argument, fallback, parser, groups, section, destination, help)                                       \
	[PP_OPT_ID_##symbol] = {name,   "PODPROF_" #symbol, argument,    fallback, parse_##parser,                                 \
	                        groups, PP_OPT_##section,   destination, help},
#include "core/base/opt_list.def"
#undef PP_OPT
};

#undef RUN
#undef REPORT
#undef SALVAGE
#undef DOCTOR
#undef STATUS
#undef CAPTURE
#undef ANALYZE
#undef EXPORT
#undef VIEW
#undef DIFF
#undef HANG
#undef SLURM
#undef TO
#undef VERB
#undef COLLECTOR

const struct pp_opt *pp_opt_find_env(const char *env)
{
	for (size_t i = 0; env && i < PP_OPTS; i++)
		if (!strcmp(pp_opt_table[i].env, env))
			return &pp_opt_table[i];
	return NULL;
}

int pp_opt_set(const struct pp_opt *opt, const char *value, struct pp_settings *job, struct pp_verb_settings *verb,
               struct pp_err *err)
{
	union {
		int64_t number;
		struct pp_step_windows windows;
		struct pp_opt_ranks ranks;
		char text[MOST_BYTES];
	} parsed;
	char *to = opt->place == PP_OPT_OF_JOB ? (char *)job : opt->place == PP_OPT_OF_VERB ? (char *)verb : NULL;
	int rc = 0;

	memset(&parsed, 0, sizeof(parsed));
	if (*value || *opt->fallback || opt->parse == parse_borrowed)
		rc = opt->parse(opt, value, &parsed, err);
	if (rc)
		return pp_err_wrap(err, rc, "option --%s", opt->name);
	if (to)
		memcpy(to + opt->offset, &parsed, opt->size);
	return 0;
}
