/* The end of stage 6: computes what needs all ranks of a job. In: a dataset with all ranks, merged or of one keeper. Out: the same
 * with every column of its collectives, and all waiting charged to cells. Called by build.c, and by rank 0's keeper. */
#pragma once

#include "aggregate/dataset/dataset.h"

/* Once: rows for ranks that delivered nothing, waiting in collectives, traffic that only the sender recorded, /quality. -ENOMEM:
 * the dataset may only be released. */
int pp_dataset_finish(struct pp_dataset *d, struct pp_err *err);
