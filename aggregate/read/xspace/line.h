/* One line of a plane: its head, its events, and the thread of spans that it becomes. Called by lines.c, host.c, activity.c and
 * own.c. */
#pragma once

#include "aggregate/read/xspace/state.h"

/* Reads what stands before the events; where bytes that were read are gone, what stands behind them too. */
void pp_xline_head(const struct pp_xread *x, struct pp_xline *l);
/* How other writers' lines are read. */
enum pp_xline_kind pp_xline_kind(const struct pp_xplane *p, const struct pp_xline *l);
/* Calls `take` for each event of the line that can be read. Sets is_late where the line must be read again. */
void pp_xline_events(struct pp_xread *x, struct pp_xplane *p, struct pp_xline *l,
                     void (*take)(struct pp_xread *, struct pp_xplane *, struct pp_xline *, const struct pp_field *));
/* A new span of the line's thread, with everything but its times 0, valid until the next one; NULL: no memory, which is noted. */
struct pp_span *pp_xline_span(struct pp_xread *x, struct pp_xline *l, int64_t begin, int64_t end);
/* Gives the thread of a line that was read to the rank; a line without spans is freed. */
void pp_xline_finish(struct pp_xread *x, struct pp_xplane *p, struct pp_xline *l);
/* The number that a text ends in; -1: none. */
int64_t pp_xline_number(const uint8_t *text, size_t length);
/* Takes an event that its tool made of others: it is only counted. */
void pp_xline_derived(struct pp_xread *x, struct pp_xplane *p, struct pp_xline *l, const struct pp_field *event);
