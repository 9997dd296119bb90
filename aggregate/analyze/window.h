/* Rows of /window for all workers. In: what the keeper noted of its ranks, in job ns. Out: pp_dataset.window. Called by the
 * session and by finish.c. */
#pragma once

#include "aggregate/dataset/dataset.h"

/* A copy into the dataset with a row for each of its workers; rows of `metadata` are in job ns. 0, or -ENOMEM. */
int pp_dataset_window(struct pp_dataset *d, const struct pp_window_metadata *metadata);
/* For a merged dataset: adds rows for workers that no host has one for. 0, or -ENOMEM. */
int pp_dataset_window_rest(struct pp_dataset *d);
