/* A line of any kind, read into the spans of a thread. Called by xspace.c. */
#pragma once

#include "aggregate/read/xspace/state.h"

/* Reads the line in `slice`, a second time where what stands behind its events changes how they are read. */
void pp_xlines_read(struct pp_xread *x, struct pp_xplane *p, const struct pp_xslice *slice);
/* Has the plane of a device lines that no viewer made of others? */
int pp_xlines_have_streams(struct pp_xread *x, struct pp_xplane *p);
