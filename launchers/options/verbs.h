/* The verbs of podprof: name, function, options. Read by podprof.c, man.c and completion.c.
 * In: nothing. Out: pp_verbs[], static, in the order in which help prints them. */
#pragma once

#include "launchers/options/options.h"

struct pp_verb {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *group, *what;              /* headline of help, and the verb's line; NULL: hidden */
	const struct pp_options_verb *options; /* NULL only where hidden */
};

enum { PP_VERBS = 20 };

extern const struct pp_verb pp_verbs[PP_VERBS];

/* NULL: no verb has that name. */
const struct pp_verb *pp_verb_find(const char *name);
