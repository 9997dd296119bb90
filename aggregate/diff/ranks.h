/* A part of pp_diff_compare(). Called by compare.c. */
#pragma once

#include "aggregate/diff/difference.h"

/* Fills d->rank: ranks whose own time changed other than that of their role. 0, or -ENOMEM; pp_diff_release() frees. */
int pp_diff_ranks(struct pp_diff *d);
