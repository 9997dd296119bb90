/* Numbers by which ranks find each other's operations of NCCL where NCCL gives none: places in steps. In: spans of a rank, in
 * ticks. Out: their sequence, or rows of pp_rank.message. Internal to aggregate/read; called by nccl.c. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct pp_rank;

/* Collectives that only NVTX ranges tell, which have UINT32_MAX: all ranks call a communicator's operations of a step in one
 * order. Of the rank's threads from `first` on. *unnumbered: counts those that stay without. 0, or -ENOMEM. */
int pp_nccl_number_ranges(struct pp_rank *rank, size_t first, uint64_t *unnumbered);
/* Sends and receives: NCCL matches those of two ranks in the order of their calls. 0, or -ENOMEM. */
int pp_nccl_number_messages(struct pp_rank *rank, size_t first);
