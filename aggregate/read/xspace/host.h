/* Events of a host's thread, as other profilers write them. Called by lines.c. */
#pragma once

#include "aggregate/read/xspace/state.h"

/* Adds a span to the line, or an allocation to the rank; keeps what may be a step, and what launches or produces. */
void pp_xhost_take(struct pp_xread *x, struct pp_xplane *p, struct pp_xline *l, const struct pp_field *event);
