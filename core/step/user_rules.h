/* Rules of a user (--rules FILE): a category for names of ranges, frames, calls and kernels. They go before all built-in ones.
 * In: a text file. Out: categories for core/step/category.c, activities for kernel_name.c. docs/steps.md has the syntax. */
#pragma once

#include <stddef.h>

#include "core/base/err.h"
#include "core/capture/span.h"

/* Replaces the rules of an earlier file. On an error there are none, and its sentence names file and line. Call it before names
 * are looked up, while there is one thread: tables of looked-up names are not made anew. */
int pp_user_rules_load(const char *path, struct pp_err *err);
/* Forgets them. */
void pp_user_rules_release(void);

/* enum pp_category of the first rule for such a range; 0: none. Any thread. */
int pp_user_rule_of_range(enum pp_origin origin, const char *name, size_t length);
/* The same for what runs on a device's stream. */
int pp_user_rule_of_kernel(const char *name, size_t length);
