/* podprof diff: tables of a comparison as text. Called by text.c. */
#pragma once

#include <stdio.h>

#include "aggregate/write/text/text.h"
#include "launchers/diff/diff.h"

/* Step time and categories, collectives, operators. Errors are those of `to`. */
void pp_diff_text_tables(const struct pp_diff *d, FILE *to);
/* "4.02 ms". Returns `text`. */
const char *pp_diff_time(char text[PP_TEXT_UNIT], double ns);
/* "+4.02 ms", "-12.3 us". Returns `text`. */
const char *pp_diff_signed(char text[32], double ns);
