/* Opens a ring file of a test, which its rings then close. Used by tests and benches that read rings without a keeper. */
#pragma once

#include "aggregate/read/ring/rings.h"
#include "aggregate/read/ring/rings_private.h"

/* As pp_drain_open() has it: 0, -EAGAIN: not complete yet, or another -errno: no ring. */
static inline int pp_rings_open(struct pp_rings *r, const char *path, struct pp_err *err)
{
	struct pp_drain *drain;
	int rc = pp_drain_open(path, r->flags, &drain, err);

	if (rc)
		return rc;
	rc = pp_rings_add(r, path, drain, err);
	if (rc)
		pp_drain_close(drain);
	else
		r->ring[r->rings - 1]->is_own = 1;
	return rc;
}
