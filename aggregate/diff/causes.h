/* A part of pp_diff_compare(). Called by compare.c. */
#pragma once

#include "aggregate/diff/difference.h"

/* Fills d->cause: waiting that goes back to a rank. None where a run has no /blame. 0, or -ENOMEM; pp_diff_release() frees. */
int pp_diff_causes(struct pp_diff *d);
