/* What the name of a kernel tells: precision, tensor cores, kind of work. In: names of `length` bytes. Out: kernel_rules.def's
 * answer. Pure; microseconds per name, so once per name. Called by readers of rings, XSpace and Kineto files, and by
 * aggregate/tools. */
#pragma once

#include <stddef.h>

#include "core/step/span.h"

enum pp_tensor_core { PP_TENSOR_CORE_UNKNOWN, PP_TENSOR_CORE_NO, PP_TENSOR_CORE_YES };

/* Only the first 4096 bytes of a name count. UNKNOWN where no row says it. A text that lists types, as in a shape, has a precision
 * too. */
enum pp_precision pp_kernel_precision(const char *name, size_t length);
enum pp_tensor_core pp_kernel_tensor_core(const char *name, size_t length);
/* KERNEL where no row says more. */
enum pp_device_activity pp_kernel_activity(const char *name, size_t length);
