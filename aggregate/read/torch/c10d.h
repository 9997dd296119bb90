/* Collectives of torch.distributed: ranges and what the framework told become calls, requests and waits, as MPI has them.
 * In: a capture in job ns. Out: the same, with spans of kinds MPI and REQUEST; pp_rank.c10d. One thread. docs/steps.md says how.
 * Called by the session, after the clock and before steps. */
#pragma once

#include "core/base/err.h"
#include "core/step/span.h"

/* 0, or -ENOMEM: the capture is then to be released only. */
int pp_c10d_convert(struct pp_capture *c, struct pp_err *err);
