/* The end of stage 6: what only the whole of a job can say. In: a merged dataset, all parts in. Out: the same with every column of
 * its collectives, and all waiting charged to cells. Called by rank 0's keeper. */
#pragma once

#include "aggregate/dataset/dataset.h"

/* Once, when all are in: rows for ranks of which nothing came, who waited for whom, traffic that only the sender saw, /quality.
 * -ENOMEM: the dataset is of no use but to be released. */
int pp_dataset_finish(struct pp_dataset *d, struct pp_err *err);
