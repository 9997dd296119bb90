/* The two doors of the collector that the ring tests do not bring along: nothing to claim, names as given. */
#include "core/source/emit.h"

int pp_emit_claim(void)
{
	return 0;
}

void pp_emit_range_slow(const struct pp_emit *e, const char *name, size_t length)
{
	struct pp_record r = {.tick = pp_tick_now(), .kind = e->kind, .length = (uint32_t)length};
	size_t n = length < PP_TEXT_INLINE ? length : PP_TEXT_INLINE;

	r.range.id = e->id;
	pp_copy_short(r.range.text, name, n);
	pp_ring_put(&r, name + n, (uint32_t)(length - n));
}
