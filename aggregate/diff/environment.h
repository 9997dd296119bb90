/* A part of pp_diff_compare(). Called by compare.c. */
#pragma once

#include "aggregate/diff/difference.h"

/* Fills d->environment: facts that are not equal in all runs. 0, or -ENOMEM; pp_diff_release() frees. */
int pp_diff_environments(struct pp_diff *d);
