/* Counts what of a file cannot be read. The first place and what it is go into the trace's metadata. Called by all that read
 * messages. */
#pragma once

#include "aggregate/read/xspace/state.h"

/* Counts a message that cannot be read. `what` of the one that lies first in the file is copied, with its offset. */
void pp_xdamage_add(struct pp_xread *x, const uint8_t *at, const char *what);
/* The same for the result of pp_wire_next(); nothing for a field or an end, nor for a cut in a file that is known to be cut. */
void pp_xdamage_check(struct pp_xread *x, enum pp_wire_result r, const uint8_t *at, const char *what);
