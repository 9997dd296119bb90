/* The hot path of a range record: at a thread's cursor, without a lock or a call. In: what happened. Out: a committed record.
 * Used by emit.h, and by the keeper, which measures what it costs. */
#pragma once

#include "core/base/tick.h"
#include "core/ring/copy_short.h"
#include "core/ring/cursor.h"

struct pp_emit { /* fields of a range record besides its text */
	uint16_t kind, domain;
	uint8_t category, source;
	uint32_t nvtx_category;
	uint64_t id;
};

/* 0: there is no room, recording went off, or the text is long: nothing is written. */
static inline int pp_emit_range_quick(struct pp_ring_cursor *c, const _Atomic uint32_t *recording, const struct pp_emit *e,
                                      const char *name, size_t length)
{
	struct pp_record *r;

	if (__builtin_expect(length > PP_TEXT_INLINE, 0) || !(r = pp_ring_take(c, recording)))
		return 0;
	r->tick = pp_tick_now();
	r->kind = e->kind;
	r->more = 0;
	r->length = (uint32_t)length;
	r->range.id = e->id;
	r->range.domain = e->domain;
	r->range.category = e->category;
	r->range.source = e->source;
	r->range.nvtx_category = e->nvtx_category;
	pp_copy_short(r->range.text, name, length);
	pp_ring_commit(c);
	return 1;
}
