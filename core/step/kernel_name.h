/* What the name of a kernel tells: precision, tensor cores, kind of work. In: names of `length` bytes. Out: the answer of
 * kernel_rules.def and communication.def. Pure; microseconds per name, so once per name. Called by readers of rings, XSpace and
 * Kineto files, and by aggregate/tools. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/capture/span.h"
#include "core/ring/record.h"

enum pp_tensor_core { PP_TENSOR_CORE_UNKNOWN, PP_TENSOR_CORE_NO, PP_TENSOR_CORE_YES };

/* Only the first 4096 bytes of a name count. UNKNOWN where no row says it. A text that lists types, as in a shape, has a precision
 * too. */
enum pp_precision pp_kernel_precision(const char *name, size_t length);
enum pp_tensor_core pp_kernel_tensor_core(const char *name, size_t length);
/* KERNEL where no row says more, COLLECTIVE, WAIT or UNSURE by communication.def, or a copy or set. */
enum pp_device_activity pp_kernel_activity(const char *name, size_t length);
/* Is it the name of an operator, or range, that communicates? */
int pp_operator_communicates(const char *name, size_t length);

/* Is it an activity of a kernel, not of a copy or set? */
static inline int pp_kernel_is_one(int activity)
{
	return activity == PP_DEVICE_KERNEL || activity == PP_DEVICE_COLLECTIVE || activity == PP_DEVICE_WAIT ||
	       activity == PP_DEVICE_UNSURE;
}

struct pp_kernel_kind {
	uint8_t activity, precision; /* enum pp_device_activity, enum pp_precision */
	uint8_t is_local;            /* a KERNEL that is known to compute, whatever launches it */
};

/* Answers by pp_intern id, for readers that see a name with each event. All 0: empty. One thread. */
struct pp_kernel_cache {
	uint8_t *known; /* 0: not yet */
	uint32_t room;
};

/* Activity and precision of the name with this id; without memory it is looked up each time. */
struct pp_kernel_kind pp_kernel_cached(struct pp_kernel_cache *cache, uint32_t id, const char *name, size_t length);
/* Frees the kinds; empty then. */
void pp_kernel_cache_release(struct pp_kernel_cache *cache);
