/* A part of pp_diff_compare(). Called by compare.c. */
#pragma once

#include "aggregate/diff/difference.h"

/* Fills d->op: self time of operators above the floor. 0, or -ENOMEM; pp_diff_release() frees. */
int pp_diff_ops(struct pp_diff *d);
