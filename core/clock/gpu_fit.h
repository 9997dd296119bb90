/* A GPU's clock against the host's tick, from what must be so: no kernel begins before its launch was begun, none ends after the
 * synchronisation that waited for it came back. Called by the keeper with records of a GPU. In: such pairs, in any order within
 * seconds. Out: a chain of lines from GPU ns to ticks. The same band as between hosts (band.h); fixed memory, no I/O. */
#pragma once

#include <stdint.h>

#include "core/base/err.h"
#include "core/clock/band.h"
#include "core/clock/pieces.h"

struct pp_gpu_fit_options {
	double ticks_per_ns;  /* of the host's tick */
	double tolerance;     /* of the GPU's rate; 0: 1e-3; 0.1 for stamps in realtime, which may be slewed */
	double resolution_ns; /* of the GPU's stamps: 1, 32, 1000; 0: 32 */
	int64_t bin_ns;       /* what is one group; 0: 1 s */
};

struct pp_gpu_fit {
	struct pp_band band;
	int64_t bin_ns;
	uint64_t pairs, late; /* late: older than what is still open */
};

int pp_gpu_fit_init(struct pp_gpu_fit *f, const struct pp_gpu_fit_options *o, struct pp_err *err);
void pp_gpu_fit_release(struct pp_gpu_fit *f);
/* The kernel began at `gpu_begin`, its launch at `tick`, before the driver was called. */
void pp_gpu_fit_launch(struct pp_gpu_fit *f, int64_t gpu_begin, int64_t tick);
/* The kernel ended at `gpu_end`; the call that waited for it was back at `tick`. */
void pp_gpu_fit_sync(struct pp_gpu_fit *f, int64_t gpu_end, int64_t tick);
/* -ENODATA: no second has both a launch and a synchronisation. */
int pp_gpu_fit_pieces(struct pp_gpu_fit *f, int64_t beyond_ns, struct pp_pieces *ret, struct pp_err *err);
