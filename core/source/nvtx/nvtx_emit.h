/* From an NVTX call to a record; shared by nvtx_core.c and nvtx_domain.c, the handlers of NVTX's two modules.
 * In: messages in NVTX's forms. Out: records, by source/emit.h. */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "core/source/emit.h"
#include "core/source/nvtx/nvtx_abi.h"
#include "core/source/nvtx/nvtx_core.h"
#include "core/source/nvtx/nvtx_names.h"
#include "core/source/nvtx/nvtx_payload.h"

enum { SMALL = 512 };

/* The handlers, and the chained tool's of the same ids (the same for every DSO; NULL without one). */
extern const pp_nvtx_function pp_nvtx_core_handlers[PP_NVTX_CORE_IDS] __attribute__((visibility("hidden")));
extern const pp_nvtx_function pp_nvtx_core2_handlers[PP_NVTX_CORE2_IDS] __attribute__((visibility("hidden")));
extern pp_nvtx_function pp_nvtx_next_core[PP_NVTX_CORE_IDS] __attribute__((visibility("hidden")));
extern pp_nvtx_function pp_nvtx_next_core2[PP_NVTX_CORE2_IDS] __attribute__((visibility("hidden")));

extern const pp_nvtx_function pp_nvtx_cuda_handlers[PP_NVTX_CUDA_IDS] __attribute__((visibility("hidden")));
extern const pp_nvtx_function pp_nvtx_cudart_handlers[PP_NVTX_CUDART_IDS] __attribute__((visibility("hidden")));
extern const pp_nvtx_function pp_nvtx_opencl_handlers[PP_NVTX_OPENCL_IDS] __attribute__((visibility("hidden")));
extern const pp_nvtx_function pp_nvtx_sync_handlers[PP_NVTX_SYNC_IDS] __attribute__((visibility("hidden")));

#define NEXT(module, id, type) ((type)pp_nvtx_next_##module[id])
#define HANDLER(f) ((pp_nvtx_function)(f))

/* name(): does `what` while something records, then calls the chained tool's function of this id. PUSH: the tool returns the depth;
 * START: it is called first and returns the range's id; without a tool the collector does. */
#define THEN_NEXT(module, number, name, params, args, what)                                                                        \
	static void name params                                                                                                    \
	{                                                                                                                          \
		what;                                                                                                              \
		if (pp_nvtx_next_##module[number])                                                                                 \
			NEXT(module, number, void(*) params) args;                                                                 \
	}
#define MARK_NEXT(module, number, name, params, args, what)                                                                        \
	THEN_NEXT(module, number, name, params, args, if (pp_emit_wanted()) what)
#define PUSH_NEXT(module, number, name, params, args, what, depth)                                                                 \
	static int name params                                                                                                     \
	{                                                                                                                          \
		if (pp_emit_wanted())                                                                                              \
			what;                                                                                                      \
		return pp_nvtx_next_##module[number] ? NEXT(module, number, int(*) params) args : depth;                           \
	}
#define START_NEXT(module, number, name, params, args, what)                                                                       \
	static uint64_t name params                                                                                                \
	{                                                                                                                          \
		uint64_t id = pp_nvtx_next_##module[number] ? NEXT(module, number, uint64_t(*) params) args : pp_nvtx_new_range(); \
                                                                                                                                   \
		if (pp_emit_wanted())                                                                                              \
			what;                                                                                                      \
		return id;                                                                                                         \
	}

static inline int enter_depth(uint16_t domain)
{
	struct pp_thread_ring *t = pp_thread_self;

	return t->slot ? t->depth[domain]++ : 0;
}

static inline int leave_depth(uint16_t domain)
{
	struct pp_thread_ring *t = pp_thread_self;

	return t->slot && t->depth[domain] ? --t->depth[domain] : 0;
}

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
