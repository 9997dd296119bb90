/* What a verb's help, man page and completion show of an option: its row of core/base/opt_list.def, or the verb's own words of
 * opt_words.def. In: the option table. Out: static texts. */
#pragma once

#include "core/base/opt.h"

struct pp_options_verb {
	const char *name;      /* "podprof run" */
	const char *arguments; /* "CMD [ARG...]" */
	const char *doc;       /* one or two sentences */
	unsigned groups;       /* enum pp_opt_groups: rows this verb takes */
	int command;           /* 1: the first word that is no option ends the options */
};

/* The argument of an option as --help, man pages and completions of a verb show it. */
const char *pp_options_argument(const struct pp_opt *opt, unsigned groups);
/* The same for its help. */
const char *pp_options_help(const struct pp_opt *opt, unsigned groups);

/* Its environment variable; NULL: the verb reads none, because the variables are those of the job's podprof run. */
const char *pp_options_variable(const struct pp_opt *opt, unsigned groups);
/* Its default as a verb shows it; "": none. */
const char *pp_options_default(const struct pp_opt *opt, unsigned groups);
