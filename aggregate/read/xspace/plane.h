/* One plane of a file: its name, lines and metadata, found without reading its events. Called by xspace.c and by readers of events.
 * */
#pragma once

#include "aggregate/read/xspace/meta.h"
#include "aggregate/read/xspace/state.h"

/* Begins a plane; its slices point into the file. The caller closes it. */
void pp_xplane_open(struct pp_xread *x, struct pp_xplane *p, const struct pp_field *plane);
/* Frees what pp_xplane_open() made. */
void pp_xplane_close(struct pp_xplane *p);
/* The event's metadata with this id, read; NULL: the plane has none. */
struct pp_xmeta *pp_xplane_find_event(struct pp_xread *x, struct pp_xplane *p, uint64_t id);

/* As pp_xplane_find_event(), without a call where it was read before. */
static inline struct pp_xmeta *pp_xplane_event(struct pp_xread *x, struct pp_xplane *p, uint64_t id)
{
	struct pp_xmeta *m = pp_xtable_at(&p->events, id);

	return m ? m : pp_xplane_find_event(x, p, id);
}
