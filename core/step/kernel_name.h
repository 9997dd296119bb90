/* What the name of a kernel tells: precision, tensor cores, collective communication. In: names. Out: kernel_rules.def's answer.
 * Pure. Called by readers of rings and Kineto files, and by aggregate/tools; docs/steps.md has the rules. */
#pragma once

#include "core/step/span.h"

enum pp_tensor_core { PP_TENSOR_CORE_UNKNOWN, PP_TENSOR_CORE_NO, PP_TENSOR_CORE_YES };

/* UNKNOWN where no word of the name says it. */
enum pp_precision pp_kernel_precision(const char *name);
enum pp_tensor_core pp_kernel_tensor_core(const char *name);
/* Is it of a library of collectives? */
int pp_kernel_is_collective(const char *name);
