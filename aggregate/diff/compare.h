/* Compares runs: step time, categories per role, ranks, collectives, operators, environment. In: pp_diff_run of each run, in the
 * order of the command line. Out: struct pp_diff. Pure. Called by launchers/diff. docs/diff.md has the rules. */
#pragma once

#include "aggregate/diff/difference.h"

/* At least two runs. matters_percent: of the first run's usual step; a change of this must not stay hidden, else the answer is
 * undecided. 0, or -ENOMEM. */
int pp_diff_compare(struct pp_diff_run *run, size_t runs, const struct pp_diff_shared *shared, double matters_percent,
                    struct pp_diff *ret_diff);
void pp_diff_release(struct pp_diff *d);
