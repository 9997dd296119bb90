/* Texts of an option for one verb; see opt_words.h. Called by options.c, help.c, man.c and completion.c. */
#include "launchers/options/opt_words.h"

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

const char *pp_options_variable(const struct pp_opt *opt, unsigned groups)
{
	if (groups == PP_OPT_REPORT && opt == &pp_opt_table[PP_OPT_ID_OUTPUT])
		return NULL;
	return groups == PP_OPT_CAPTURE || groups == PP_OPT_STATUS || groups == PP_OPT_HANG || groups == PP_OPT_EXPORT ||
	                       groups == PP_OPT_DIFF || groups == PP_OPT_FLEET || groups == PP_OPT_SLURM
	               ? NULL
	               : opt->env;
}

const char *pp_options_default(const struct pp_opt *opt, unsigned groups)
{
	const int of_jobs = groups != PP_OPT_EXPORT && groups != PP_OPT_REPORT;

	return of_jobs || opt != &pp_opt_table[PP_OPT_ID_OUTPUT] ? opt->fallback : "";
}
