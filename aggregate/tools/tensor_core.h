/* Tensor cores by the name of the operator that launched a kernel. In: names. Out: no, yes or unknown. Pure. Called by
 * kernel_stats.c; docs/steps.md has the rules. core/step/kernel_name.h has those of kernels' own names. */
#pragma once

#include "core/step/kernel_name.h"

/* May the operator use them? Unknown without a name. */
enum pp_tensor_core pp_tensor_core_eligible(const char *op, size_t length);
