/* NVTX's CORE module: ranges, marks and names of the default domain; installed by nvtx_inject.c. */
#include "core/source/nvtx/nvtx_emit.h"

pp_nvtx_function pp_nvtx_next_core[PP_NVTX_CORE_IDS];

/* Unique in the process: slot and a count of the thread, no shared line. */
uint64_t pp_nvtx_new_range(void)
{
	static _Atomic uint64_t others;
	struct pp_thread_ring *t = pp_thread_self;

	if (t->slot)
		return ((uint64_t)t->number + 2) << 32 | ++t->next_range;
	return atomic_fetch_add(&others, 1) % 0xffffffffu + 1;
}

static void mark_ex(const struct pp_nvtx_attributes *a)
{
	if (pp_emit_wanted())
		emit_attributes(PP_RECORD_MARK, 0, 0, a);
	if (pp_nvtx_next_core[PP_NVTX_MARK_EX])
		NEXT(core, PP_NVTX_MARK_EX, void (*)(const struct pp_nvtx_attributes *))(a);
}

static void mark_a(const char *text)
{
	if (pp_emit_wanted())
		emit(PP_RECORD_MARK, 0, 0, 0, text, text ? strlen(text) : 0);
	if (pp_nvtx_next_core[PP_NVTX_MARK_A])
		NEXT(core, PP_NVTX_MARK_A, void (*)(const char *))(text);
}

static void mark_w(const wchar_t *text)
{
	if (pp_emit_wanted())
		emit_wide(PP_RECORD_MARK, 0, 0, 0, text);
	if (pp_nvtx_next_core[PP_NVTX_MARK_W])
		NEXT(core, PP_NVTX_MARK_W, void (*)(const wchar_t *))(text);
}

static uint64_t start_ex(const struct pp_nvtx_attributes *a)
{
	uint64_t id = pp_nvtx_next_core[PP_NVTX_START_EX]
	                      ? NEXT(core, PP_NVTX_START_EX, uint64_t(*)(const struct pp_nvtx_attributes *))(a)
	                      : pp_nvtx_new_range();

	if (pp_emit_wanted())
		emit_attributes(PP_RECORD_START, 0, id, a);
	return id;
}

static uint64_t start_a(const char *text)
{
	uint64_t id = pp_nvtx_next_core[PP_NVTX_START_A] ? NEXT(core, PP_NVTX_START_A, uint64_t(*)(const char *))(text)
	                                                 : pp_nvtx_new_range();

	if (pp_emit_wanted())
		emit(PP_RECORD_START, 0, 0, id, text, text ? strlen(text) : 0);
	return id;
}

static uint64_t start_w(const wchar_t *text)
{
	uint64_t id = pp_nvtx_next_core[PP_NVTX_START_W] ? NEXT(core, PP_NVTX_START_W, uint64_t(*)(const wchar_t *))(text)
	                                                 : pp_nvtx_new_range();

	if (pp_emit_wanted())
		emit_wide(PP_RECORD_START, 0, 0, id, text);
	return id;
}

static void range_end(uint64_t id)
{
	if (pp_emit_wanted())
		emit(PP_RECORD_END, 0, 0, id, "", 0);
	if (pp_nvtx_next_core[PP_NVTX_END])
		NEXT(core, PP_NVTX_END, void (*)(uint64_t))(id);
}

static int push_ex(const struct pp_nvtx_attributes *a)
{
	if (pp_emit_wanted())
		emit_attributes(PP_RECORD_PUSH, 0, 0, a);
	if (pp_nvtx_next_core[PP_NVTX_PUSH_EX])
		return NEXT(core, PP_NVTX_PUSH_EX, int (*)(const struct pp_nvtx_attributes *))(a);
	return enter_depth(0);
}

static int push_a(const char *text)
{
	if (pp_emit_wanted())
		emit(PP_RECORD_PUSH, 0, 0, 0, text, text ? strlen(text) : 0);
	if (pp_nvtx_next_core[PP_NVTX_PUSH_A])
		return NEXT(core, PP_NVTX_PUSH_A, int (*)(const char *))(text);
	return enter_depth(0);
}

static int push_w(const wchar_t *text)
{
	if (pp_emit_wanted())
		emit_wide(PP_RECORD_PUSH, 0, 0, 0, text);
	if (pp_nvtx_next_core[PP_NVTX_PUSH_W])
		return NEXT(core, PP_NVTX_PUSH_W, int (*)(const wchar_t *))(text);
	return enter_depth(0);
}

static int pop(void)
{
	if (pp_emit_wanted())
		emit(PP_RECORD_POP, 0, 0, 0, "", 0);
	if (pp_nvtx_next_core[PP_NVTX_POP])
		return NEXT(core, PP_NVTX_POP, int (*)(void))();
	return leave_depth(0);
}

static void category_a(uint32_t category, const char *name)
{
	pp_nvtx_category_name(0, category, name);
	if (pp_nvtx_next_core[PP_NVTX_CATEGORY_A])
		NEXT(core, PP_NVTX_CATEGORY_A, void (*)(uint32_t, const char *))(category, name);
}

static void category_w(uint32_t category, const wchar_t *name)
{
	char small[SMALL], *text;

	pp_nvtx_narrow(name, small, sizeof(small), &text);
	pp_nvtx_category_name(0, category, text);
	if (text != small)
		free(text);
	if (pp_nvtx_next_core[PP_NVTX_CATEGORY_W])
		NEXT(core, PP_NVTX_CATEGORY_W, void (*)(uint32_t, const wchar_t *))(category, name);
}

static void thread_a(uint32_t tid, const char *name)
{
	if (name)
		pp_ring_name_thread(tid, name);
	if (pp_nvtx_next_core[PP_NVTX_THREAD_A])
		NEXT(core, PP_NVTX_THREAD_A, void (*)(uint32_t, const char *))(tid, name);
}

static void thread_w(uint32_t tid, const wchar_t *name)
{
	char small[SMALL], *text;

	pp_nvtx_narrow(name, small, sizeof(small), &text);
	pp_ring_name_thread(tid, text);
	if (text != small)
		free(text);
	if (pp_nvtx_next_core[PP_NVTX_THREAD_W])
		NEXT(core, PP_NVTX_THREAD_W, void (*)(uint32_t, const wchar_t *))(tid, name);
}

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
