/* podprof diff: reads and compares sessions in a child. Called by launchers/cmd_diff.c. */
#pragma once

#include <stdio.h>

#include "launchers/diff/diff.h"

enum pp_diff_file { PP_DIFF_TEXT, PP_DIFF_JSON, PP_DIFF_PAGE, PP_DIFF_FILES };

/* Writes text, JSON and, if it is asked for, the page into files without a name, to be closed. 0, or -errno with one sentence that
 * names the file. */
int pp_diff_sessions(const struct pp_diff_given *given, struct pp_diff_check *check, FILE *ret_file[PP_DIFF_FILES],
                     struct pp_err *err);
