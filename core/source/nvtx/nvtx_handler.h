/* What the handlers of NVTX's calls share: the chained tool's functions of the same ids, the depth of nested ranges. In: NVTX
 * calls, any thread. Used by nvtx_*.c, one file a module. */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "core/source/emit.h"
#include "core/source/nvtx/nvtx_abi.h"
#include "core/source/nvtx/nvtx_names.h"

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

/* Id of a range that begins, unique in the process: slot and a count of the thread, no shared line. */
static inline uint64_t pp_nvtx_new_range(void)
{
	struct pp_thread_ring *t = pp_thread_self;

	if (t->slot)
		return ((uint64_t)t->number + 2) << 32 | ++t->next_range;
	return atomic_fetch_add(&pp_nvtx_ranges_elsewhere, 1) % 0xffffffffu + 1;
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
