/* One event of a line: its fields, its time, and those of its stats that mean something. Called by lines.c, host.c, activity.c and
 * own.c. */
#pragma once

#include "aggregate/read/xspace/state.h"
#include "aggregate/read/xspace/value.h"

struct pp_xevent {    /* an event as it lies in the file */
	uint64_t has; /* PP_XS_BIT() of the stats that it has; what is of another one has no value */
	uint64_t metadata;
	int64_t offset_ps, duration_ps;
	int is_total;                      /* num_occurrences: a sum without a time */
	uint64_t number[PP_XS_KINDS];      /* by kind of stat */
	struct pp_xtext text[PP_XS_TEXTS]; /* by kind of stat */
	double occupancy;
};

static inline int pp_xevent_has(const struct pp_xevent *e, enum pp_xs_kind kind)
{
	return (e->has & PP_XS_BIT(kind)) != 0;
}

/* Reads an event of the line; times in ns of the file's clock. 0: it has no time, or is damaged, which is counted. */
int pp_xevent_read(struct pp_xread *x, struct pp_xplane *p, const struct pp_xline *l, const struct pp_field *field,
                   struct pp_xevent *e, int64_t *ret_begin, int64_t *ret_end);
