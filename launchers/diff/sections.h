/* podprof diff: the sections of the page, each closed, with its finding in one line. Called by page.c. */
#pragma once

#include <stdio.h>

#include "launchers/diff/diff.h"

/* Those without data are named in one row. Errors are those of `to`. */
void pp_diff_sections(const struct pp_diff *d, FILE *to);
/* `tag` with a text in it, with the page's units; attributes may follow the tag's name. */
void pp_diff_put(FILE *to, const char *tag, const char *text);
