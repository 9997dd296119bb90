/* The environment that the process was started with. Programs change theirs on any thread, and a getenv() beside a setenv() may
 * read freed memory, so everything after the constructor reads this copy. */
#pragma once

#include <stddef.h>

/* Copies the environment, once, in the constructor, where no other thread runs. Without memory pp_env() is getenv(). */
void pp_env_take(void);
/* The value; NULL: there was none. Lives as long as the process. */
const char *pp_env(const char *name);
/* All variables, "NAME=value" each. */
char *const *pp_env_all(size_t *ret_count);
