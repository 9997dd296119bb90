/* Lines that aggregate/write/xspace wrote. Called by lines.c and own_split.c. */
#pragma once

#include "aggregate/read/xspace/state.h"

/* Reads one; whose rank it is goes into x->thread_rank. Sets is_late as pp_xline_events(). */
void pp_xown_line(struct pp_xread *x, struct pp_xplane *p, struct pp_xline *l);
/* The rank in "rank 12 main"; -1: none, and *ret_rest (what follows) stays. */
int32_t pp_xown_rank(const uint8_t *text, size_t length, const uint8_t **ret_rest);
