/* Steps of calls that are all alike, from the times between them: one call per step, or bursts of equal length. In: ns before each
 * call. Out: calls per step. Pure. Called by step_period.c and step_message.c. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* ns[i]: from the end of call i - 1 to the end of call i; ns[0] does not count. Returns the calls of a step; 0: the times show no
 * steps. *ret_pause: a step begins with a call that took longer, if it has several calls. Sorts `work`, [n]. */
size_t pp_rhythm(const int64_t *ns, size_t n, int64_t *work, int64_t *ret_pause);
