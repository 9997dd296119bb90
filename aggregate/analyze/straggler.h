/* The rank that the others wait for most, more closely. In: a dataset with all its parts, pp_dataset.late. Out:
 * pp_dataset.straggler. */
#ifndef PP_ANALYZE_STRAGGLER_H
#define PP_ANALYZE_STRAGGLER_H

#include "aggregate/dataset/dataset.h"

/* 0, or -ENOMEM. */
int pp_dataset_straggler(struct pp_dataset *d);

#endif
