/* Options of a verb: argv, then environment, then default, all by the rows of core/base/opt_list.def.
 * In: argv of a verb, environ. Out: each option's value where its row says, parsed once, and its text, to be passed on or shown. */
#pragma once

#include <stddef.h>

#include "launchers/options/opt_words.h"

enum pp_options_source { PP_FROM_DEFAULT, PP_FROM_ENVIRONMENT, PP_FROM_COMMAND_LINE };

struct pp_options {
	const char *text[PP_OPTS]; /* borrowed from argv, environ or the table; never NULL */
	enum pp_options_source source[PP_OPTS];
	struct pp_settings job;       /* values of rows with TO() */
	struct pp_verb_settings verb; /* values of rows with VERB() */
};

/* All at their defaults. */
void pp_options_init(struct pp_options *options);
/* One back at its default; its source stays. */
void pp_options_reset(struct pp_options *options, enum pp_opt_id id);

/* Read the command line. Returns -1: go on, *ret_rest is the first argument that is no option (words of verbs without
 * `command` are moved behind the options); else the exit code: 0 after --help, 64 after one sentence on stderr. */
int pp_options_parse(const struct pp_options_verb *verb, int argc, char **argv, struct pp_options *ret_options, int *ret_rest);

/* Fill from PODPROF_* what the command line left at its default. Bad values and unknown names are ignored, `warn` gets
 * one sentence for each (may be NULL). */
void pp_options_environment(struct pp_options *options, unsigned groups, void (*warn)(const char *sentence));

/* The nearest of `names` to a mistyped word, NULL where none is near. */
const char *pp_nearest(const char *word, const char *const *names, size_t count);
