/* The values of the job as a table: members of pp_dataset that job.def describes. */
#pragma once

#include "aggregate/dataset/dataset.h"

/* Values of the job as a table of one row, which is the dataset itself. */
struct pp_table pp_dataset_record(struct pp_dataset *d);
/* Its description; `id` is ignored. */
const struct pp_table_desc *pp_job_desc(int id);
