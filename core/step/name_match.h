/* Rules for names: words in a name, and globs of a whole name. Pure; any thread.
 * In: names as they were recorded. Used by category.c, user_rules.c, kernel_name.c and aggregate/tools/tensor_core.c. */
#pragma once

#include <stddef.h>

enum {
	PP_NAME_BYTES = 1000, /* of a longer name rules see this much */
	PP_NAME_WORDS = 2 * PP_NAME_BYTES + 3,
};

/* " iterator get next " from "IteratorGetNext"; with blanks at both ends, so that each word is between blanks. `length` is at most
 * PP_NAME_BYTES, `words` has PP_NAME_WORDS. In a rule, '*' is a letter. */
void pp_name_words(const char *name, size_t length, int is_rule, char *words);
/* Are the words of a rule, "all reduce*", in these? */
int pp_words_match(const char *rule, const char *words);
/* Are the words of a rule in the name? */
int pp_name_has_words(const char *rule, const char *name, size_t length);
/* Is all of the name like the pattern? '*' is any text. */
int pp_name_is_like(const char *name, size_t length, const char *pattern);
/* The same for a path, or for what follows any '/' of it. */
int pp_path_is_like(const char *name, size_t length, const char *pattern);
