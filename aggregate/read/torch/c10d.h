/* Converts collectives of torch.distributed: ranges and the framework's annotations become calls, requests and waits, as MPI has
 * them. In: a capture in job ns. Out: the same, with spans of kinds MPI and REQUEST; pp_rank.c10d. One thread. docs/steps.md
 * explains it. Called by the session, after the clock and before steps. */
#pragma once

#include "core/base/err.h"

struct pp_capture;

/* 0, or -ENOMEM: the capture may only be released then. */
int pp_c10d_convert(struct pp_capture *c, struct pp_err *err);
