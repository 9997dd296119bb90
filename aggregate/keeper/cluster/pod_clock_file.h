/* Saves the comparisons of this host's clock in its spool. Called by pod_clock.c. */
#pragma once

#include "aggregate/keeper/cluster/pod_state.h"

/* Appends what is new after this round or turn; 0, and one that was saved, do nothing. A failure is logged. */
void pp_pod_clock_save(struct pp_pod *p, uint64_t round);
