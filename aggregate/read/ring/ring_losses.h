/* What a ring has lost. In: its header, of any content; what its readers and its drain have counted. Internal to aggregate/read. */
#pragma once

#include "aggregate/read/ring/rings_private.h"

/* Records, by cause, since the ring was opened. */
void pp_ring_losses(const struct pp_ring *ring, uint64_t lost[PP_LOSSES]);
