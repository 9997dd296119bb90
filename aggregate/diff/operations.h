/* A part of pp_diff_compare(). Called by compare.c. */
#pragma once

#include "aggregate/diff/difference.h"

/* Fills d->operation: collectives by name and size of their communicators. 0, or -ENOMEM; pp_diff_release() frees. */
int pp_diff_operations(struct pp_diff *d);
