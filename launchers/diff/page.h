/* podprof diff: the page of a comparison. Called by launchers/cmd_diff.c. */
#pragma once

#include <stdio.h>

#include "launchers/diff/diff.h"

/* The page around such a JSON text, as x.part until it is complete. */
int pp_diff_page(FILE *json, const char *html_path, struct pp_err *err);
