/* Theoretical occupancy of a kernel: warps that one multiprocessor can hold, of those that it has room for. In: launch, limits of
 * the device. Out: percent. Pure. Called by device_link.c. */
#pragma once

#include "core/ring/record.h"

struct pp_launch;

/* By the block's threads, registers and shared memory, as NVIDIA's cuda_occupancy.h (CUDA Toolkit 11 to 13,
 * cudaOccMaxActiveBlocksPerMultiprocessor) counts them. Registers of a warp are rounded up to 256 and come from the quarter of the
 * multiprocessor that the warp is in (half in compute capability 6.0). A block's shared memory is rounded up to 128 bytes, with
 * 1 KiB of the system (before 8.0: to 256 bytes, without). The CUDA C Programming Guide, "Compute Capabilities", has the limits.
 * All of the shared memory may be used as such, as there without a preference. Limits by barriers and clusters are not counted.
 * -1: a limit is unknown, or the launch is not possible. */
float pp_occupancy(const struct pp_launch *launch, const struct pp_device_limits *limits);
