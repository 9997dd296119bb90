/* What the first bytes of a Kineto file tell. Called by aggregate/read/trace.c, also in a build without libyajl. */
#pragma once

#include <stddef.h>

#include "aggregate/read/trace_options.h"

/* Sets rank, world, is_podprof and host from the first bytes, unpacked, where they tell. Returns 1 where they are of this format.
 * */
int pp_kineto_glance(const void *bytes, size_t size, struct pp_trace_glance *ret_glance);
