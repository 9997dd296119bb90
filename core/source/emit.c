/* The cold half of emit.h: claims, long texts, counters. Called by sources, by way of emit.h or directly. */
#include "core/source/emit.h"

#include "core/source/services.h"

int pp_emit_claim(void)
{
	if (atomic_load_explicit(&pp_wiped.phase, memory_order_acquire) == PP_PHASE_EXITING) {
		pp_ring_lose(PP_LOSS_AFTER_EXIT);
		return 0;
	}
	return pp_services.claim(PP_EVIDENCE_MARK, -1, -1) && atomic_load(&pp_wiped.recording);
}

void pp_emit_range_slow(const struct pp_emit *e, const char *name, size_t length)
{
	pp_emit_range_at(e, pp_tick_now(), name, length);
}

void pp_emit_range_at(const struct pp_emit *e, pp_tick tick, const char *name, size_t length)
{
	struct pp_record r = {.tick = tick, .kind = e->kind};
	size_t n = length < PP_TEXT_INLINE ? length : PP_TEXT_INLINE;

	if (length > UINT32_MAX)
		length = UINT32_MAX;
	r.length = (uint32_t)length;
	r.range.id = e->id;
	r.range.domain = e->domain;
	r.range.category = e->category;
	r.range.source = e->source;
	r.range.nvtx_category = e->nvtx_category;
	pp_copy_short(r.range.text, name, n);
	pp_ring_put(&r, name + n, (uint32_t)(length - n));
}

void pp_emit_counter(const char *name, double value)
{
	size_t length = name ? strlen(name) : 0;
	size_t n = length < PP_TEXT_INLINE ? length : PP_TEXT_INLINE;
	struct pp_record r = {.tick = pp_tick_now(), .kind = PP_RECORD_COUNTER, .length = (uint32_t)length};

	r.counter.value = value;
	pp_copy_short(r.counter.text, name ? name : "", n);
	pp_ring_put(&r, name ? name + n : NULL, (uint32_t)(length - n));
}
