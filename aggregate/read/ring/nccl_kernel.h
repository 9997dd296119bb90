/* Kernels of NCCL and RCCL that CUPTI recorded, by the calls that launched them. In: threads and streams of a ring, in ticks.
 * Out: the kernel of an operation. Internal to aggregate/read; called by nccl.c. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct pp_rank;

struct pp_nccl_launch { /* a call that launches, of any kernel */
	int64_t begin, end;
	int64_t until; /* begin of the next one with its number: CUPTI uses them again; INT64_MAX: none */
	uint32_t tid, correlation;
};

struct pp_nccl_kernel {
	int64_t begin, end;
	uint32_t correlation;
};

struct pp_nccl_kernels {
	struct pp_nccl_launch *launch; /* by thread, then begin */
	struct pp_nccl_kernel *kernel; /* by correlation, then begin */
	size_t launches, kernels;
};

/* Of the rank's threads from `first` on. -ENOMEM. */
int pp_nccl_kernels_init(struct pp_nccl_kernels *k, const struct pp_rank *rank, size_t first);
/* Frees both lists; a zeroed one has none. */
void pp_nccl_kernels_release(struct pp_nccl_kernels *k);
/* The kernel of work that NCCL reported on thread `tid` at `time`, behind its launch. `launch` to `launched`: NCCL's time of the
 * call; 0: not reported. NULL: none was recorded. */
const struct pp_nccl_kernel *pp_nccl_kernel_before(const struct pp_nccl_kernels *k, uint32_t tid, int64_t time, int64_t launch,
                                                   int64_t launched);
/* The n-th kernel, from 0, that the thread launched inside [begin, end]; NULL: there are not as many. */
const struct pp_nccl_kernel *pp_nccl_kernel_within(const struct pp_nccl_kernels *k, uint32_t tid, int64_t begin, int64_t end,
                                                   size_t n);
