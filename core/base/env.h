/* The environment that the process was started with, for what podprof run put there. Programs change theirs on any thread, and a
 * getenv() beside a setenv() may read freed memory: what is asked for later than in the constructor is asked for here. */
#pragma once

#include <stddef.h>

/* Copies the environment, once; in the constructor, where no other thread is. Without memory pp_env() is getenv(). */
void pp_env_take(void);
/* The value; NULL: there was none. Lives as long as the process. */
const char *pp_env(const char *name);
/* All of it, "NAME=value" each. */
char *const *pp_env_all(size_t *ret_count);
