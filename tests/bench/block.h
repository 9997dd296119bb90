/* Parts of datasets for the benches of blocks and of pods: made with the noise that jobs have, or cut out of a recorded pod.h5.
 * Used by block.c and pod.c. */
#pragma once

#include "aggregate/dataset/dataset.h"
#include "aggregate/read/h5/file.h"

struct block_job {
	int32_t ranks;
	size_t steps;
	int calls;        /* collectives of all ranks a step; one in four is nonblocking, ended by one Waitall */
	int32_t per_host; /* 0, or ranks of a host of a pod, one part: with communicators, clocks, a late rank; calls is 2 */
};

#define BLOCK_WORLD 0x9e3779b97f4a7c15ULL
#define BLOCK_TENSOR 0x1000000000ULL /* communicators' ids of a pod: + host */
#define BLOCK_DATA 0x2000000000ULL   /* + group */
enum { BLOCK_DATA_HOSTS = 16 };

/* The share of ranks first .. first + count - 1. Ends the program where there is no memory. */
void block_make(struct pp_dataset *d, const struct pp_intern *names, const struct block_job *job, int32_t first, int32_t count);
/* The same ranks of a recorded session; its collectives as one host's keeper leaves them. */
void block_cut(struct pp_dataset *d, struct pp_h5_file *h5, const struct pp_dataset *whole, int32_t first, int32_t count);
