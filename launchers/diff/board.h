/* podprof diff: what the page draws: step times of the runs, and how the usual step of each rank changed. Called by page.c. */
#pragma once

#include <stdio.h>

#include "launchers/diff/diff.h"

/* More runs than that are left out between the first and the last ones; more steps are put together, more ranks are left out. */
enum { PP_DIFF_BOARD_RUNS = 6, PP_DIFF_BOARD_STEPS = 2000, PP_DIFF_BOARD_RANKS = 4096 };

/* One object; docs/diff.md lists its members. Errors are those of `to`, and -ENOMEM. */
int pp_diff_board(const struct pp_diff *d, FILE *to);
