/* Events of a device's stream. Called by lines.c and own.c. */
#pragma once

#include "aggregate/read/xspace/state.h"

/* Adds a span of a device to the line. */
void pp_xactivity_take(struct pp_xread *x, struct pp_xplane *p, struct pp_xline *l, const struct pp_field *event);
