/* podprof diff: reads and compares sessions in a child. Called by launchers/cmd_diff.c. */
#pragma once

#include <stdio.h>

#include "launchers/diff/diff.h"

/* Writes text and JSON into files without a name, to be closed. 0, or -errno with one sentence that names the file. */
int pp_diff_sessions(const struct pp_diff_given *given, struct pp_diff_check *check, FILE **ret_text, FILE **ret_json,
                     struct pp_err *err);
