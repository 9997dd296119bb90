/* Which events are collectives of XLA: by the programs in a file's plane of metadata, and by texts in names of events. Called by
 * xspace.c, plane.c, activity.c and host.c. */
#pragma once

#include "aggregate/read/xspace/event.h"
#include "aggregate/read/xspace/state.h"

/* Takes the collectives of the programs that the plane has. */
void pp_xhlo_programs(struct pp_xread *x, struct pp_xplane *p);
/* The collective of an instruction's text; index + 1 into x->hlo, 0: it is none. */
uint32_t pp_xhlo_of_text(struct pp_xread *x, const uint8_t *text, size_t length);
/* The collective that the event's hlo_op names. */
uint32_t pp_xhlo_of_event(struct pp_xread *x, const struct pp_xevent *e);
/* The program with that number, or, where it has none, of that name (pp_intern id); index + 1, 0: unknown, or several. */
uint32_t pp_xhlo_module(const struct pp_xread *x, int has_program, uint64_t program, uint32_t name);
void pp_xhlo_release(struct pp_xread *x);
