/* Tensor cores by names: of the operator that launched a kernel, and of the kernel. In: names. Out: no, yes or unknown. Pure.
 * Called by kernel_stats.c; docs/steps.md has the rules. */
#pragma once

#include <stddef.h>

enum pp_tensor_core { PP_TENSOR_CORE_UNKNOWN, PP_TENSOR_CORE_NO, PP_TENSOR_CORE_YES };

/* May the operator use them? Unknown without a name. */
enum pp_tensor_core pp_tensor_core_eligible(const char *op, size_t length);
/* Does the kernel use them? Unknown where its name has none of the words that say so. */
enum pp_tensor_core pp_tensor_core_used(const char *kernel, size_t length);
