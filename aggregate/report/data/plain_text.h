/* Texts in HTML: names are the application's, and may hold anything. Pure. Used by plain.c and plain_table.c. */
#pragma once

#include <stdio.h>

/* Text of an element or of an attribute in double quotes: '&', '<', '>' and '"' are escaped, bad UTF-8 and control characters are
 * U+FFFD. */
void pp_plain_text(FILE *to, const char *text);
