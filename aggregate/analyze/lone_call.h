/* Calls that may wait and are in no row of /collective: probes, epochs of windows, polls, Waits for unknown requests. In:
 * spans of a rank, and which of them rows have. Out: rows of /lone_call. Internal to aggregate/analyze; called by
 * completing.c. */
#pragma once

#include <stdint.h>

struct pp_rank;
struct pp_table;

enum { PP_LONE_CALLS_MOST = 1 << 18 }; /* rows of a rank */

/* in_row: [threads][spans] not 0 where a row has the span; NULL: no row has any, as has a thread of which that is true. Returns
 * the number of calls beyond the limit, or -ENOMEM. */
int64_t pp_lone_calls_add(const struct pp_rank *rank, uint32_t *const *in_row, struct pp_table *to);
