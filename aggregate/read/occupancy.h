/* Theoretical occupancy of a kernel: warps that one multiprocessor can hold, of those that it has room for. In: launch, limits of
 * the device. Out: percent. Pure. Called by device_link.c. */
#pragma once

#include "core/step/span.h"

/* By the block's threads, registers and shared memory, as NVIDIA's cuda_occupancy.h (CUDA Toolkit 12, cudaOccMaxActiveBlocksPer-
 * Multiprocessor) counts them, with the device's largest shared memory. -1: a limit is unknown, or the launch is not possible. */
float pp_occupancy(const struct pp_launch *launch, const struct pp_device_limits *limits);
