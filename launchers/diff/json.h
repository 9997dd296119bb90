/* podprof diff: a comparison as JSON. Called by read.c. */
#pragma once

#include <stdio.h>

#include "launchers/diff/diff.h"

/* One object; errors are those of `to`. */
void pp_diff_json(const struct pp_diff *d, const struct pp_diff_check *check, FILE *to);
