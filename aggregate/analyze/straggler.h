/* Details of the rank that the others wait for most. In: a dataset with all its parts, pp_dataset.late. Out:
 * pp_dataset.straggler. */
#pragma once

#include "aggregate/dataset/dataset.h"

/* 0, or -ENOMEM. */
int pp_dataset_straggler(struct pp_dataset *d);
