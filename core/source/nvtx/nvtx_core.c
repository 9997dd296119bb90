/* NVTX's CORE module: ranges, marks and names of the default domain; installed by nvtx_inject.c. */
#include "core/source/nvtx/nvtx_emit.h"

pp_nvtx_function pp_nvtx_next_core[PP_NVTX_CORE_IDS];

static void name_thread_wide(uint32_t tid, const wchar_t *wide)
{
	char small[SMALL], *text;

	pp_nvtx_narrow(wide, small, sizeof(small), &text);
	pp_ring_name_thread(tid, text);
	if (text != small)
		free(text);
}

#define EMIT_TEXT(kind, id) emit(kind, 0, 0, id, text, text ? strlen(text) : 0)

MARK_NEXT(core, PP_NVTX_MARK_EX, mark_ex, (const struct pp_nvtx_attributes *a), (a), emit_attributes(PP_RECORD_MARK, 0, 0, a))
MARK_NEXT(core, PP_NVTX_MARK_A, mark_a, (const char *text), (text), EMIT_TEXT(PP_RECORD_MARK, 0))
MARK_NEXT(core, PP_NVTX_MARK_W, mark_w, (const wchar_t *text), (text), emit_wide(PP_RECORD_MARK, 0, 0, 0, text))
START_NEXT(core, PP_NVTX_START_EX, start_ex, (const struct pp_nvtx_attributes *a), (a), emit_attributes(PP_RECORD_START, 0, id, a))
START_NEXT(core, PP_NVTX_START_A, start_a, (const char *text), (text), EMIT_TEXT(PP_RECORD_START, id))
START_NEXT(core, PP_NVTX_START_W, start_w, (const wchar_t *text), (text), emit_wide(PP_RECORD_START, 0, 0, id, text))
MARK_NEXT(core, PP_NVTX_END, range_end, (uint64_t id), (id), emit(PP_RECORD_END, 0, 0, id, "", 0))
PUSH_NEXT(core, PP_NVTX_PUSH_EX, push_ex, (const struct pp_nvtx_attributes *a), (a), emit_attributes(PP_RECORD_PUSH, 0, 0, a),
          enter_depth(0))
PUSH_NEXT(core, PP_NVTX_PUSH_A, push_a, (const char *text), (text), EMIT_TEXT(PP_RECORD_PUSH, 0), enter_depth(0))
PUSH_NEXT(core, PP_NVTX_PUSH_W, push_w, (const wchar_t *text), (text), emit_wide(PP_RECORD_PUSH, 0, 0, 0, text), enter_depth(0))
PUSH_NEXT(core, PP_NVTX_POP, pop, (void), (), emit(PP_RECORD_POP, 0, 0, 0, "", 0), leave_depth(0))
THEN_NEXT(core, PP_NVTX_CATEGORY_A, category_a, (uint32_t category, const char *name), (category, name),
          pp_nvtx_category_name(0, category, name))
THEN_NEXT(core, PP_NVTX_CATEGORY_W, category_w, (uint32_t category, const wchar_t *name), (category, name),
          pp_nvtx_category_wide(0, category, name))
THEN_NEXT(core, PP_NVTX_THREAD_A, thread_a, (uint32_t tid, const char *name), (tid, name), if (name) pp_ring_name_thread(tid, name))
THEN_NEXT(core, PP_NVTX_THREAD_W, thread_w, (uint32_t tid, const wchar_t *name), (tid, name), name_thread_wide(tid, name))

const pp_nvtx_function pp_nvtx_core_handlers[PP_NVTX_CORE_IDS] = {
        NULL,
        HANDLER(mark_ex),
        HANDLER(mark_a),
        HANDLER(mark_w),
        HANDLER(start_ex),
        HANDLER(start_a),
        HANDLER(start_w),
        HANDLER(range_end),
        HANDLER(push_ex),
        HANDLER(push_a),
        HANDLER(push_w),
        HANDLER(pop),
        HANDLER(category_a),
        HANDLER(category_w),
        HANDLER(thread_a),
        HANDLER(thread_w),
};
