/* The log directory, before anything is written into it. Called by the verbs that write sessions. */
#pragma once

#include <stddef.h>

#include "core/base/err.h"

/* Makes the log directory if it is missing, and proves that a file can be written there. `ret_path`: absolute, also of one that
 * cannot be written. *ret_made: it was missing; NULL: not asked for. Ends after 5 s, with -ETIMEDOUT, also where its file system
 * hangs: another process does it, which is no child of this one. One thread. */
int pp_logdir_open(const char *logdir, char *ret_path, size_t size, int *ret_made, struct pp_err *err);
/* What to do about a failure (-errno) of it: the end of a sentence. */
const char *pp_logdir_cure(int rc);
