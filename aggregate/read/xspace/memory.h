/* Calls of a framework's allocator, which TensorFlow writes as events. Called by host.c and own.c. */
#pragma once

#include "aggregate/read/xspace/state.h"

/* Adds an allocation or a release at `time` (ns) to the rank. */
void pp_xmemory_take(struct pp_xread *x, struct pp_xplane *p, const struct pp_field *event, int64_t time, int is_free);
