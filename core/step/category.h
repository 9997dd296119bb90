/* Categories of exclusive time, and the rules that give a range name its category.
 * In: names. Out: ids used by step_attr, blocks and every table. */
#pragma once

#include <stddef.h>

#include "core/base/err.h"

enum pp_category {
	PP_CATEGORY_BY_NAME = 0,
#define PP_CATEGORY(id, symbol, name, colour) PP_CATEGORY_##symbol = (id),
#include "core/step/category.def"
#undef PP_CATEGORY
	PP_CATEGORIES = 10, /* ids are 1..PP_CATEGORIES */
};

enum { PP_NAME_RULES_VERSION = 6 }; /* of core/step/name_rules.def */

/* Name of an id, "?" where there is none. Static storage. */
const char *pp_category_name(int id);
/* Its colour, "#rrggbb". */
const char *pp_category_colour(int id);

/* Category of a range by its name (rules: those of pp_category_rules_load(), then core/step/name_rules.def, version
 * PP_NAME_RULES_VERSION). *ret_default is 1 where only the default rule (Host compute) matched. Any thread. */
enum pp_category pp_category_of_name(const char *name, size_t length, int *ret_default);
/* Where the type begins in an operator's name of TensorFlow or JAX, "scope/layer/name:Type" or "name:_Type"; 0: it is no such name.
 * JAX leaves the type out: then it is the last part of the path. */
size_t pp_category_operator_type(const char *name, size_t length);
/* Are the words of a rule, "all reduce*", in the name? Pure, any thread. */
int pp_name_has_words(const char *rule, const char *name, size_t length);

/* Rules of a user's file, which go before the built-in ones; they replace those of an earlier file. A row is "words = Category",
 * the rest of a line behind # is a comment. On an error there are none, and its sentence names file and line. Call it before names
 * are looked up, while there is one thread: tables of looked-up names are not made anew. */
int pp_category_rules_load(const char *path, struct pp_err *err);
/* Forgets the rules of a user. */
void pp_category_rules_release(void);
