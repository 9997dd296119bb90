/* NVTX's CORE2 module: ranges, marks and names in domains, registered strings; installed by nvtx_inject.c. */
#include "core/source/nvtx/nvtx_emit.h"
#include "core/source/nvtx/nvtx_resource.h"

pp_nvtx_function pp_nvtx_next_core2[PP_NVTX_CORE2_IDS];

MARK_NEXT(core2, PP_NVTX_D_MARK_EX, d_mark_ex, (void *domain, const struct pp_nvtx_attributes *a), (domain, a),
          emit_attributes(PP_RECORD_MARK, pp_nvtx_domain_index(domain), 0, a))
START_NEXT(core2, PP_NVTX_D_START_EX, d_start_ex, (void *domain, const struct pp_nvtx_attributes *a), (domain, a),
           emit_attributes(PP_RECORD_START, pp_nvtx_domain_index(domain), id, a))
MARK_NEXT(core2, PP_NVTX_D_END, d_end, (void *domain, uint64_t id), (domain, id),
          emit(PP_RECORD_END, pp_nvtx_domain_index(domain), 0, id, "", 0))

static int d_push_ex(void *domain, const struct pp_nvtx_attributes *a)
{
	uint16_t index = pp_nvtx_domain_index(domain);

	if (pp_emit_wanted())
		emit_attributes(PP_RECORD_PUSH, index, 0, a);
	if (pp_nvtx_next_core2[PP_NVTX_D_PUSH_EX])
		return NEXT(core2, PP_NVTX_D_PUSH_EX, int (*)(void *, const struct pp_nvtx_attributes *))(domain, a);
	return enter_depth(index);
}

static int d_pop(void *domain)
{
	uint16_t index = pp_nvtx_domain_index(domain);

	if (pp_emit_wanted())
		emit(PP_RECORD_POP, index, 0, 0, "", 0);
	if (pp_nvtx_next_core2[PP_NVTX_D_POP])
		return NEXT(core2, PP_NVTX_D_POP, int (*)(void *))(domain);
	return leave_depth(index);
}

static void *d_resource_create(void *domain, void *attributes)
{
	static char resource; /* any address that is not NULL */

	pp_nvtx_resource_name(domain, attributes);
	if (pp_nvtx_next_core2[PP_NVTX_D_RESOURCE_CREATE])
		return NEXT(core2, PP_NVTX_D_RESOURCE_CREATE, void *(*)(void *, void *))(domain, attributes);
	return &resource;
}

THEN_NEXT(core2, PP_NVTX_D_RESOURCE_DESTROY, d_resource_destroy, (void *resource), (resource), (void)0)
THEN_NEXT(core2, PP_NVTX_D_CATEGORY_A, d_category_a, (void *domain, uint32_t category, const char *name), (domain, category, name),
          pp_nvtx_category_name(pp_nvtx_domain_index(domain), category, name))
THEN_NEXT(core2, PP_NVTX_D_CATEGORY_W, d_category_w, (void *domain, uint32_t category, const wchar_t *name),
          (domain, category, name), pp_nvtx_category_wide(pp_nvtx_domain_index(domain), category, name))

static void *d_string_a(void *domain, const char *text)
{
	void *foreign = NULL;

	if (pp_nvtx_next_core2[PP_NVTX_D_STRING_A])
		foreign = NEXT(core2, PP_NVTX_D_STRING_A, void *(*)(void *, const char *))(domain, text);
	return pp_nvtx_string_create(text ? text : "", text ? strlen(text) : 0, foreign);
}

static void *d_string_w(void *domain, const wchar_t *wide)
{
	void *foreign = NULL, *handle;
	char small[SMALL], *text;
	size_t length = pp_nvtx_narrow(wide, small, sizeof(small), &text);

	if (pp_nvtx_next_core2[PP_NVTX_D_STRING_W])
		foreign = NEXT(core2, PP_NVTX_D_STRING_W, void *(*)(void *, const wchar_t *))(domain, wide);
	handle = pp_nvtx_string_create(text, length, foreign);
	if (text != small)
		free(text);
	return handle;
}

static void *d_create_a(const char *name)
{
	void *foreign = NULL;

	if (pp_nvtx_next_core2[PP_NVTX_D_CREATE_A])
		foreign = NEXT(core2, PP_NVTX_D_CREATE_A, void *(*)(const char *))(name);
	return pp_nvtx_domain_create(name, foreign);
}

static void *d_create_w(const wchar_t *wide)
{
	void *foreign = NULL, *handle;
	char small[SMALL], *text;

	pp_nvtx_narrow(wide, small, sizeof(small), &text);
	if (pp_nvtx_next_core2[PP_NVTX_D_CREATE_W])
		foreign = NEXT(core2, PP_NVTX_D_CREATE_W, void *(*)(const wchar_t *))(wide);
	handle = pp_nvtx_domain_create(text, foreign);
	if (text != small)
		free(text);
	return handle;
}

THEN_NEXT(core2, PP_NVTX_D_DESTROY, d_destroy, (void *domain), (domain), (void)0)
THEN_NEXT(core2, PP_NVTX_D_INITIALIZE, d_initialize, (const void *reserved), (reserved), (void)0)

const pp_nvtx_function pp_nvtx_core2_handlers[PP_NVTX_CORE2_IDS] = {
        NULL,
        HANDLER(d_mark_ex),
        HANDLER(d_start_ex),
        HANDLER(d_end),
        HANDLER(d_push_ex),
        HANDLER(d_pop),
        HANDLER(d_resource_create),
        HANDLER(d_resource_destroy),
        HANDLER(d_category_a),
        HANDLER(d_category_w),
        HANDLER(d_string_a),
        HANDLER(d_string_w),
        HANDLER(d_create_a),
        HANDLER(d_create_w),
        HANDLER(d_destroy),
        HANDLER(d_initialize),
};
