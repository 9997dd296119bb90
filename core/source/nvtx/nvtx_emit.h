/* From an NVTX call to a record; shared by nvtx_core.c and nvtx_domain.c, the handlers of NVTX's two modules.
 * In: messages in NVTX's forms. Out: records, by source/emit.h. */
#pragma once

#include "core/source/nvtx/nvtx_handler.h"
#include "core/source/nvtx/nvtx_payload.h"

static inline void emit(enum pp_record_kind kind, uint16_t domain, uint32_t category, uint64_t id, const char *name, size_t length)
{
	struct pp_emit e = {
	        .kind = (uint16_t)kind, .domain = domain, .source = PP_SOURCE_NVTX, .nvtx_category = category, .id = id};

	pp_emit_range(&e, name, length);
}

static inline void emit_wide(enum pp_record_kind kind, uint16_t domain, uint32_t category, uint64_t id, const wchar_t *wide)
{
	char small[SMALL], *text;
	size_t length = pp_nvtx_narrow(wide, small, sizeof(small), &text);

	emit(kind, domain, category, id, text, length);
	if (text != small)
		free(text); /* may call free: of a wide text longer than SMALL */
}

/* `a` may be of an older, shorter version: only what its size covers is read. */
static inline void emit_attributes(enum pp_record_kind kind, uint16_t domain, uint64_t id, const struct pp_nvtx_attributes *a)
{
	char small[SMALL], *wide = small;
	const char *text = "";
	size_t length = 0;

	if (!a || a->size < sizeof(*a)) {
		emit(kind, domain, 0, id, "", 0);
		return;
	}
	if (a->message_type == PP_NVTX_MESSAGE_ASCII && a->message) {
		text = a->message;
		length = strlen(text);
	} else if (a->message_type == PP_NVTX_MESSAGE_REGISTERED) {
		text = pp_nvtx_string_text(a->message, &length);
	} else if (a->message_type == PP_NVTX_MESSAGE_WIDE) {
		length = pp_nvtx_narrow(a->message, small, sizeof(small), &wide);
		text = wide;
	}
	if (__builtin_expect(a->payload_type != 0, 0))
		pp_nvtx_emit_payload(kind, domain, id, a, text, length);
	else
		emit(kind, domain, a->category, id, text, length);
	if (wide != small)
		free(wide); /* may call free: of a wide text longer than SMALL */
}
