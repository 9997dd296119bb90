/* Fills the constant part of a ring's header: rank, host, options and command. In: claim, environment, /proc. Out: the header,
 * before the ring has its name. One thread, once per ring. */
#pragma once

#include "core/base/step_windows.h"
#include "core/coord/claim.h"
#include "core/ring/ring_file.h"

/* `h`: a fresh mapping, all 0 but for its magic. Text that is too long is cut; what /proc does not tell stays 0 or "". */
void pp_header_fill(struct pp_ring_header *h, const struct pp_claim *claim, const struct pp_step_windows *asked);
