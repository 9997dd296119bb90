/* The end of stage 6: computes what needs all ranks of a job. In: a merged dataset with all parts. Out: the same with every
 * column of its collectives, and all waiting charged to cells. Called by rank 0's keeper. */
#pragma once

#include "aggregate/dataset/dataset.h"

/* Once, when all parts are in: rows for ranks that delivered nothing, waiting in collectives, traffic that only the sender
 * recorded, /quality. -ENOMEM: the dataset may only be released. */
int pp_dataset_finish(struct pp_dataset *d, struct pp_err *err);
