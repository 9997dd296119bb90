/* What one record costs, measured on this host. In: nothing. Out: the median of short loops of the collector's hot path into
 * memory of its own, outside of the application. Called by session.c, once a session. */
#pragma once

#include <stdint.h>

/* Picoseconds; 0: not known. Takes 3 ms at most, on a busy host a time slice more. */
uint64_t pp_record_cost_ps(void);
