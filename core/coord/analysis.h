/* How the ranks of `mpirun podprof analyze` exchange bytes: functions of libpodprof-gather.so (mpi/gather.c), found at run time, so
 * that podprof itself is linked with no MPI. All ranks call each of them, in the same order. */
#pragma once

#include <stdint.h>

struct pp_analysis_world {
	int rank, size;
	char library[128]; /* the MPI's own words for itself */
};

/* 0: MPI is up. Else it is not: the reason is in `why`. */
typedef int pp_analysis_begin_all(struct pp_analysis_world *ret_world, char *why, uint64_t size);
/* Rank 0's bytes on every rank: *bytes is rank 0's, and on the others from malloc(). 0 or -ENOMEM, the same on all ranks. */
typedef int pp_analysis_share_all(void **bytes, uint64_t *size);
/* Every rank's bytes to rank 0, where `take` gets them in the order of ranks, also its own. A rank's `take` is called on rank 0
 * only, and not with bytes for which it has no memory (NULL, size). */
typedef void pp_analysis_gather_all(const void *bytes, uint64_t size,
                                    void (*take)(void *context, int rank, const void *bytes, uint64_t size), void *context);
typedef void pp_analysis_end_all(void);

struct pp_analysis_ops {
	pp_analysis_begin_all *begin_all;
	pp_analysis_share_all *share_all;
	pp_analysis_gather_all *gather_all;
	pp_analysis_end_all *end_all;
};

#define PP_ANALYSIS_OPS "podprof_analysis_ops" /* of the library: const struct pp_analysis_ops */
