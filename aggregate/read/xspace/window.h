/* The time of a file in which its profiler neither started nor ended. Called by xspace.c. */
#pragma once

#include "aggregate/read/xspace/state.h"

/* After the steps: leaves out what the profiler itself did at the begin and at the end of the file, and cuts what reaches into that
 * time. Sets x->from and x->to where the file shows it. */
void pp_xwindow_find(struct pp_xread *x);
