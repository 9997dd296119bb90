/* Blocks of files of other profilers to a session. Called by launchers/analyze. */
#pragma once

#include "aggregate/session/analyze.h"

/* Merges the blocks, in the order of files, and writes the session. A file without a block is a missing rank with its reason.
 * `warning`: NULL-terminated, for /quality, or NULL. *ret_damaged: not 0 where only a part of a
 * file could be read, or a file of the session could not be written. `text` receives the lines for the user, newline between. */
int pp_analyze_write(struct pp_analyze_file *file, size_t files, const struct pp_analyze_options *o, const char *const *warning,
                     int *ret_damaged, char *text, size_t size, struct pp_err *err);
