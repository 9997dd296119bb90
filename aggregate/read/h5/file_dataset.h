/* The dataset that a pod.h5 was written from. As file.h, by pp_forked_read() only. */
#pragma once

#include "aggregate/dataset/dataset.h"
#include "aggregate/read/h5/file.h"

/* The dataset of pod.h5: attributes, late, clocks, and the described tables whose bit 1 << PP_TABLE_name is set;
 * of those from 64 on /tf_data_pipeline always, the others with all bits.
 * pp_dataset_release() frees it. */
int pp_h5_file_dataset(struct pp_h5_file *h5, uint64_t tables, struct pp_dataset *ret_dataset, struct pp_err *err);
/* The same of a file in memory, without a copy: nobody may change or release it. 0: it is no file in memory. */
int pp_h5_file_view(struct pp_h5_file *h5, uint64_t tables, struct pp_dataset *ret_view);
