/* Prints a summary on a terminal or into a pipe. Called by podprof report and podprof diff. */
#pragma once

#include <stdio.h>

/* Copies a summary. On a terminal of `columns` it keeps the bars of a table where they fit, else drops them, then the table's last
 * column, then blanks that all its rows have, says so at the end, and folds longer lines at a blank. 0: no terminal, whole lines
 * without bars. 0, or -errno of a failed read or write. */
int pp_text_print(FILE *in, FILE *out, int columns);
