/* Another NVTX tool, which podprof chains: it handles nvtxRangePushA alone, and no extension. Run under nvtx_payload_test.c. */
#include <stddef.h>

#include "core/source/nvtx/nvtx_abi.h"

static int push_a(const char *text)
{
	(void)text;
	return 0;
}

__attribute__((visibility("default"))) int InitializeInjectionNvtx2(pp_nvtx_get_export get);

int InitializeInjectionNvtx2(pp_nvtx_get_export get)
{
	const struct pp_nvtx_callbacks *c = get(PP_NVTX_EXPORT_CALLBACKS);
	pp_nvtx_function **table = NULL;
	unsigned count = 0;

	if (c && c->module_table(PP_NVTX_CORE, &table, &count) && count > PP_NVTX_PUSH_A)
		*table[PP_NVTX_PUSH_A] = (pp_nvtx_function)push_a;
	return 1;
}
