/* The steps of a rank, by the rules of xprof. Called by xspace.c and own_split.c. */
#pragma once

#include "aggregate/read/xspace/state.h"

enum { PP_XS_MAY_BE_STEP = PP_SPAN_IS_ROOT }; /* a flag of ranges until their steps are found */

/* Adds steps, in order of time, to the thread; a range of the same time that may be a step becomes one. -1: no memory. */
int pp_xsteps_put(struct pp_xread *x, struct pp_thread *t, const struct pp_xmark *step, size_t steps);
/* After all planes: finds the steps and puts them on the thread that marks them. Calls pp_xlink_all(). */
void pp_xsteps_find(struct pp_xread *x);
