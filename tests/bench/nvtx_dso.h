/* The table of one DSO, as NVTX's loader hands it out to an injected library. Used by the benches that record by NVTX. */
#pragma once

#include <stdint.h>

#include "core/source/nvtx/nvtx_abi.h"

static pp_nvtx_function nvtx_slots[16];
static pp_nvtx_function *nvtx_table[16];

static int nvtx_module_table(uint32_t module, pp_nvtx_function ***ret_table, unsigned *ret_count)
{
	for (int i = 0; i < 16; i++)
		nvtx_table[i] = &nvtx_slots[i];
	*ret_table = nvtx_table;
	*ret_count = 16;
	return module == PP_NVTX_CORE;
}

static const struct pp_nvtx_callbacks nvtx_callbacks = {sizeof(nvtx_callbacks), nvtx_module_table};

static const void *nvtx_get_export(uint32_t id)
{
	return id == PP_NVTX_EXPORT_CALLBACKS ? &nvtx_callbacks : NULL;
}
