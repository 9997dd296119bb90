/* A directory that only this user may enter, where others may write beside it: /dev/shm, /tmp. Called by launchers and the
 * keeper; not in the collector. */
#pragma once

#include <sys/types.h>

#include "core/base/err.h"

/* Makes it with mode 0700, whatever the umask, or takes the one that is there. Fails where that is another user's (-EPERM), a link
 * or no directory (-ENOTDIR), or with what mkdir says. `what` names it in the sentence: "the spool". Any thread. */
int pp_own_directory(const char *path, const char *what, struct pp_err *err);
/* Makes a directory and those above it that are missing; `path` is changed meanwhile. 0, or -errno. */
int pp_make_directories(char *path, mode_t mode);
