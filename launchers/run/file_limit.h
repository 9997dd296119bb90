/* The limit on file sizes (ulimit -f): podprof gets an error where it would be killed, the application has the signal as it was.
 * Called by podprof.c and cmd_run.c. */
#pragma once

#include "core/base/err.h"

/* In this process a write beyond the limit is EFBIG. */
void pp_file_limit_ignore(void);
/* Before exec: the signal's way is inherited. */
void pp_file_limit_restore(void);
/* -EFBIG where not even a rank's smallest ring is within it. */
int pp_file_limit_check(struct pp_err *err);
