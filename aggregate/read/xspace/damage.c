/* Counts and describes damage; see damage.h. */
#include "aggregate/read/xspace/damage.h"

#include <stdio.h>

void pp_xdamage_add(struct pp_xread *x, const uint8_t *at, const char *what)
{
	struct pp_trace_metadata *t = &x->rank.trace;
	uint64_t offset = (uint64_t)(at - x->source.bytes);

	if (t->damaged++ && offset >= t->damaged_at)
		return;
	t->damaged_at = offset;
	snprintf(t->damage, sizeof(t->damage), "%s", what);
}

void pp_xdamage_check(struct pp_xread *x, enum pp_wire_result r, const uint8_t *at, const char *what)
{
	char text[96];

	if (r == PP_WIRE_END || r == PP_WIRE_FIELD)
		return;
	if (r == PP_WIRE_CUT && x->is_cut)
		return;
	snprintf(text, sizeof(text), r == PP_WIRE_CUT ? "%s ends in the middle of a field" : "%s has bytes that are no field",
	         what);
	pp_xdamage_add(x, at, text);
}
