/* What the writer of pod.h5 would put into the file, without the file: columns are made when they are read. In: a dataset. Out:
 * memory for pp_h5_file_over(). Called by aggregate/report. */
#pragma once

#include "aggregate/dataset/dataset.h"
#include "aggregate/read/h5/file_memory.h"

/* pp_h5_memory_free() frees it; until then it needs the dataset. -ENOMEM. */
int pp_hdf5_in_memory(const struct pp_dataset *d, const char *logdir, struct pp_h5_memory **ret_memory, struct pp_err *err);
