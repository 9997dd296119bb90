/* The profiler plug-in that the job would have without podprof: the user's, or libnccl-profiler.so. It is called after podprof, in
 * and out of windows. */
#pragma once

#include "core/source/nccl/nccl_abi.h"

struct pp_nccl_next {                        /* its object for one of our versions */
	const struct pp_nccl_plugin *plugin; /* NULL: there is none */
	uint32_t version;
};

/* For a caller of `version`. The first call loads it. Any thread. */
const struct pp_nccl_next *pp_nccl_chain(uint32_t version);
