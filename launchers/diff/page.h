/* podprof diff: the page of a comparison. Called by read.c, which writes it in the child, and by launchers/cmd_diff.c, which
 * keeps it. */
#pragma once

#include <stdio.h>

#include "launchers/diff/diff.h"

/* All of it; `check` as --fail-above left it. Errors are those of `to`. */
void pp_diff_page(const struct pp_diff *d, const struct pp_diff_check *check, FILE *to);
/* Copies such a page into a file, which is x.part until it is complete. */
int pp_diff_page_keep(FILE *page, const char *html_path, struct pp_err *err);
