/* The option table; used by launchers, keeper and guest. */
#include "core/base/opt.h"

#include <errno.h>
#include <string.h>

#include "core/base/parse.h"
#include "core/base/rank_list.h"
#include "core/base/step_windows.h"

#define RUN PP_OPT_RUN
#define REPORT PP_OPT_REPORT
#define SALVAGE PP_OPT_SALVAGE
#define DOCTOR PP_OPT_DOCTOR
#define STATUS PP_OPT_STATUS
#define CAPTURE PP_OPT_CAPTURE

const struct pp_opt pp_opt_table[PP_OPTS] = {
#define PP_OPT(name, symbol, argument, fallback, type, groups, help)                                                               \
	[PP_OPT_ID_##symbol] = {name, "PODPROF_" #symbol, argument, fallback, PP_OPT_##type, groups, help},
#include "core/base/opt_list.def"
#undef PP_OPT
};

#undef RUN
#undef REPORT
#undef SALVAGE
#undef DOCTOR
#undef STATUS
#undef CAPTURE

const struct pp_opt *pp_opt_find(const char *name)
{
	for (size_t i = 0; name && i < PP_OPTS; i++)
		if (!strcmp(pp_opt_table[i].name, name))
			return &pp_opt_table[i];
	return NULL;
}

const struct pp_opt *pp_opt_find_env(const char *env)
{
	for (size_t i = 0; env && i < PP_OPTS; i++)
		if (!strcmp(pp_opt_table[i].env, env))
			return &pp_opt_table[i];
	return NULL;
}

static int check_str(const struct pp_opt *opt, const char *value, struct pp_err *err)
{
	/* A row whose argument is words between bars takes exactly one of them. */
	const char *word = opt->argument;
	size_t length = strlen(value);

	if (!strchr(word, '|'))
		return strchr(value, '\n') ? pp_err_set(err, -EINVAL, "a line break is not allowed") : 0;
	while (word) {
		const char *bar = strchr(word, '|');
		size_t n = bar ? (size_t)(bar - word) : strlen(word);

		if (n == length && !strncmp(word, value, n))
			return 0;
		word = bar ? bar + 1 : NULL;
	}
	return pp_err_set(err, -EINVAL, "'%s' is none of %s", value, opt->argument);
}

int pp_opt_check(const struct pp_opt *opt, const char *value, struct pp_err *err)
{
	struct pp_step_windows windows;
	struct pp_rank_list ranks;
	uint16_t port[2];
	int64_t number;
	uint64_t bytes;
	int rc = 0;

	if (!*value && !*opt->fallback)
		return 0;
	switch (opt->type) {
	case PP_OPT_STR:
		rc = check_str(opt, value, err);
		break;
	case PP_OPT_INT:
		rc = pp_parse_int(value, &number, err);
		break;
	case PP_OPT_BYTES:
		rc = pp_parse_bytes(value, &bytes, err);
		break;
	case PP_OPT_STEPS:
		rc = pp_step_windows_parse(value, &windows, err);
		break;
	case PP_OPT_FLAG:
		if (strcmp(value, "0") && strcmp(value, "1"))
			rc = pp_err_set(err, -EINVAL, "'%s' is neither 0 nor 1", value);
		break;
	case PP_OPT_TIME:
		rc = pp_parse_time(value, &number, err);
		break;
	case PP_OPT_PORTS:
		rc = pp_parse_ports(value, &port[0], &port[1], err);
		break;
	case PP_OPT_SLOW:
		rc = pp_parse_slow(value, &number, err);
		break;
	case PP_OPT_RANKS:
		rc = pp_rank_list_parse(value, &ranks, err);
		break;
	}
	return rc ? pp_err_wrap(err, rc, "option --%s", opt->name) : 0;
}
