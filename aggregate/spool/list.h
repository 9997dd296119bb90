/* All spools of this user on this node. In: the roots of root.h, and links there to spools elsewhere. Out: their states. */
#pragma once

#include "aggregate/spool/state.h"

/* Calls `see` for every spool; stops when it returns non-zero, and returns that. */
int pp_spool_each(int (*see)(const struct pp_spool_state *state, void *data), void *data);
/* Links a spool that is below no root, so that pp_spool_each() finds it; best effort. */
void pp_spool_announce(const char *spool);
