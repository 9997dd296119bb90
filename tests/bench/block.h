/* Parts of datasets for the bench of blocks: made with the noise that jobs have, or cut out of a recorded pod.h5. Used by
 * block.c. */
#pragma once

#include "aggregate/dataset/dataset.h"
#include "aggregate/read/h5/pod.h"

struct block_job {
	int32_t ranks;
	size_t steps;
	int calls; /* collectives of all ranks a step; one in four is nonblocking, ended by one Waitall */
};

/* The share of ranks first .. first + count - 1. Ends the program where there is no memory. */
void block_make(struct pp_dataset *d, const struct pp_intern *names, const struct block_job *job, int32_t first, int32_t count);
/* The same ranks of a recorded session; its collectives as one host's keeper leaves them. */
void block_cut(struct pp_dataset *d, struct pp_pod_file *pod, const struct pp_dataset *whole, int32_t first, int32_t count);
