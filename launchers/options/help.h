/* Help texts on stdout: `podprof VERB --help`, and the examples that man pages and `podprof --help` print too.
 * In: the option table, man_text.def. Out: lines as wide as the terminal, 79 columns in a pipe. */
#pragma once

#include "launchers/options/opt_words.h"

struct pp_help_example {
	const char *verb; /* "run"; "": of the whole program */
	const char *command, *meaning;
};

/* The next example of a verb after `last` (NULL: its first); NULL: there is none. */
const struct pp_help_example *pp_help_example(const char *verb, const struct pp_help_example *last);

/* Prints `text` in lines that begin at column `indent`, of which `used` are taken already. */
void pp_help_wrap(const char *text, int indent, int used);
/* All that `podprof VERB --help` prints. */
void pp_help_verb(const struct pp_options_verb *verb);
