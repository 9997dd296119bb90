/* Computes the nodes of a band: see band.h. */
#pragma once

#include "core/base/err.h"
#include "core/clock/band.h"

/* Computes the nodes, one for each group that bounds both sides. -ENODATA: there is none. May be called again after more
 * groups. */
int pp_band_solve(struct pp_band *b, struct pp_err *err);
