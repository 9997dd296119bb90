/* The option table; used by launchers, keeper and collector. */
#include "core/base/opt.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/base/parse.h"
#include "core/base/rank_list.h"
#include "core/base/step_windows.h"

enum { MOST_BYTES = 4096 }; /* of a destination */

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

static int parse_flag(const struct pp_opt *opt, const char *value, void *to, struct pp_err *err)
{
	(void)opt;
	*(int *)to = !strcmp(value, "1");
	return strcmp(value, "0") && strcmp(value, "1") ? pp_err_set(err, -EINVAL, "'%s' is neither 0 nor 1", value) : 0;
}

static int parse_int(const struct pp_opt *opt, const char *value, void *to, struct pp_err *err)
{
	(void)opt;
	return pp_parse_int(value, to, err);
}

static int parse_bytes(const struct pp_opt *opt, const char *value, void *to, struct pp_err *err)
{
	(void)opt;
	return pp_parse_bytes(value, to, err);
}

static int parse_windows(const struct pp_opt *opt, const char *value, void *to, struct pp_err *err)
{
	(void)opt;
	return pp_step_windows_parse(value, to, err);
}

static int parse_time(const struct pp_opt *opt, const char *value, void *to, struct pp_err *err)
{
	(void)opt;
	return pp_parse_time(value, to, err);
}

static int parse_time_text(const struct pp_opt *opt, const char *value, void *to, struct pp_err *err)
{
	int64_t ns;

	return pp_parse_time(value, &ns, err) ? -EINVAL : copy(opt, value, to);
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
	struct pp_rank_list ranks;

	return pp_rank_list_parse(value, &ranks, err) ? -EINVAL : copy(opt, value, to);
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
#define TO(member) offsetof(struct pp_settings, member), sizeof(((struct pp_settings *)NULL)->member)
#define VERB 0, 0

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
#undef TO
#undef VERB

const struct pp_opt *pp_opt_find_env(const char *env)
{
	for (size_t i = 0; env && i < PP_OPTS; i++)
		if (!strcmp(pp_opt_table[i].env, env))
			return &pp_opt_table[i];
	return NULL;
}

int pp_opt_set(struct pp_settings *s, const struct pp_opt *opt, const char *value, struct pp_err *err)
{
	union {
		int64_t number;
		struct pp_step_windows windows;
		char text[MOST_BYTES];
	} checked;
	int rc = 0;

	memset(&checked, 0, sizeof(checked));
	if (*value || *opt->fallback)
		rc = opt->parse(opt, value, &checked, err);
	if (rc)
		return pp_err_wrap(err, rc, "option --%s", opt->name);
	if (s && opt->size)
		memcpy((char *)s + opt->offset, &checked, opt->size);
	return 0;
}
