/* Ties device spans to their launches on the host, and launches to steps. Called by line.c, host.c, activity.c, steps.c and
 * xspace.c. */
#pragma once

#include "aggregate/read/xspace/state.h"

/* The next span of a host's line, in order of time: is it a launch, and in which range? */
void pp_xlink_add(struct pp_xread *x, const struct pp_xline *l, size_t span);
/* The same for all of a line again, which was not in order. */
void pp_xlink_add_all(struct pp_xread *x, const struct pp_xline *l);
/* All lines of hosts are read: launches are found by correlation from now on. */
void pp_xlink_index(struct pp_xread *x);
/* Gives a span of a device the thread and the operator that launched it. Returns the launch; NULL: none is known. */
const struct pp_xlaunch *pp_xlink_tie(struct pp_xread *x, struct pp_span *s);

struct pp_xroot { /* an event that is a step of the host, or holds one */
	int64_t begin, end, number;
	uint32_t thread, span;
};

/* After all planes: finds the launches of device spans that have not found theirs. `root` [roots], where there are some: marks of
 * the steps by what they launched on each device go to x->mark, with the root's index as group. */
void pp_xlink_all(struct pp_xread *x, const struct pp_xroot *root, size_t roots);
