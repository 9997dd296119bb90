/* What nothing is known of, as a file of rules to fill in. In: pod.h5. Out: text. Called by launchers/cmd_report.c. */
#pragma once

#include <stdio.h>

#include "core/base/err.h"

/* Prints a rule, as a comment, for each range and kernel whose category rests on nothing, those with most time first; one line if
 * there is none. --rules reads the result (core/step/user_rules.h). */
int pp_unknown_print(const char *pod_path, FILE *to, struct pp_err *err);
