/* A timeline made up, for benches and tests of what writes timelines: ranks x steps of a training job with one late rank. Each step
 * of a rank has ranges nested in two others, one MPI_Allreduce on the main thread for which all wait for the late rank, a request,
 * kernels on a stream, and samples of memory. */
#pragma once

#include "aggregate/timeline/timeline.h"

struct timeline_job {
	int ranks, steps;
	int ranges;  /* innermost ranges of a step of a rank */
	int late;    /* rank */
	int devices; /* 0: no streams */
};

/* Aborts without memory. pp_timeline_release() frees it. */
void timeline_make(struct pp_timeline *t, const struct timeline_job *job);
