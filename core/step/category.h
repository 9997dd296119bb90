/* Categories of exclusive time, and the rules that give a range name its category.
 * In: names. Out: ids used by step_attr, blocks and every table. */
#pragma once

#include <stddef.h>

enum pp_category {
	PP_CATEGORY_BY_NAME = 0,
#define PP_CATEGORY(id, symbol, name, colour) PP_CATEGORY_##symbol = (id),
#include "core/step/category.def"
#undef PP_CATEGORY
	PP_CATEGORIES = 10, /* ids are 1..PP_CATEGORIES */
};

enum { PP_NAME_RULES_VERSION = 3 }; /* of core/step/name_rules.def */

/* Name of an id, "?" where there is none. Static storage. */
const char *pp_category_name(int id);
const char *pp_category_colour(int id);

/* Category of a range by its name (rules: core/step/name_rules.def, version PP_NAME_RULES_VERSION).
 * *ret_default is 1 where only the default rule (Host compute) matched. Pure, any thread. */
enum pp_category pp_category_of_name(const char *name, size_t length, int *ret_default);
