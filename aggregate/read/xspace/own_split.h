/* Gives the lines of a file of podprof back to their ranks. Called by xspace.c. */
#pragma once

#include "aggregate/read/xspace/state.h"

/* Makes the capture's one rank into those of the lines. Without memory, which is noted, some are missing. */
void pp_xown_split(struct pp_xread *x, struct pp_capture *c);
