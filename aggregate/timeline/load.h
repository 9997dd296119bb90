/* Event files of a session. Called by session.c and the page. */
#pragma once

#include <limits.h>

#include "core/base/err.h"

/* The directory of a session's own event files, whether or not it exists. 0, or -ENOENT: `pod` is in no log directory. */
int pp_timeline_directory(const char *pod, char directory[PATH_MAX]);
/* -ENODATA: says that this directory has no event files. */
int pp_timeline_no_files(const char *directory, struct pp_err *err);
