/* Names of NVTX's resources: devices, streams, threads. In: NVTX calls, any thread. Out: definitions, names of threads. */
#pragma once

#include "core/source/nvtx/nvtx_abi.h"

/* nvtxDomainResourceCreate(). `domain`: the application's handle. Attributes of an older version are left out. */
void pp_nvtx_resource_name(void *domain, const struct pp_nvtx_resource_attributes *a);
