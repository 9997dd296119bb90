/* Does a session hold what is true of every session? In: pod.h5. Out: the violations as text. Called by launchers/cmd_report.c. */
#pragma once

#include <stdio.h>

#include "core/base/err.h"

/* Prints each violation of check.def with table, row and values, or one line if there is none. *ret_violations: how many. */
int pp_check_print(const char *pod_path, FILE *to, long *ret_violations, struct pp_err *err);
