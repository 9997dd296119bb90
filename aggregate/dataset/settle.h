/* The end of stage 6: collectives of several hosts, settled. In: a merged dataset, all parts in. Out: the same with every column of
 * its collectives, and all waiting charged to cells. Called by merge.c. */
#ifndef PP_ANALYZE_SETTLE_H
#define PP_ANALYZE_SETTLE_H

#include "aggregate/dataset/dataset.h"

/* -ENOMEM: the dataset may be half settled, to be released. */
int pp_dataset_settle(struct pp_dataset *d);

#endif
