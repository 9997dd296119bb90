/* What a step of PyTorch consists of: batches, backward passes, updates. */
#pragma once

#include <stddef.h>

struct pp_dataset;

/* "4 backward passes, 1 update by Adam": the means of all ranks' steps. Empty where podprof's hooks in PyTorch or the
 * records of its profiler did not find the steps. */
void pp_step_parts(const struct pp_dataset *d, char *text, size_t size);
