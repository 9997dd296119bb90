/* Where a session goes that its log directory does not take: a directory of this user on the node. In: the error of the log
 * directory. Out: another one. Called by session.c. */
#pragma once

#include <stddef.h>

#include "core/base/err.h"

/* Is -errno `code` of a kind that another directory cures (no space, no permission, gone, broken)? */
int pp_spare_helps(int code);

/* /var/tmp/podprof-sessions-UID, or in /tmp: made if missing. Fails where it is another user's, or a link (-EPERM, -ENOTDIR), where
 * less than a tenth of the file system is free (-ENOSPC), or with what mkdir says. Any thread. */
int pp_spare_open(char *path, size_t size, struct pp_err *err);
