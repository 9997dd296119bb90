/* A rank of `podprof status` as a line, for who asks from elsewhere. In: struct pp_live_rank. Out: text, and back.
 * Called by request_status.c and cmd_status.c. */
#ifndef PP_KEEPER_LIVE_TEXT_H
#define PP_KEEPER_LIVE_TEXT_H

#include "aggregate/keeper/live.h"

/* Returns its bytes, with the line break. */
int pp_live_put(const struct pp_live_rank *r, char *line, size_t size);
/* -EINVAL: it is none. */
int pp_live_get(const char *line, struct pp_live_rank *ret);

#endif
